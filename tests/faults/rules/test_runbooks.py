"""Every rule has its paragraph in docs/runbooks/, on the page of its file, and no more is there."""

from pathlib import Path

import pytest

from exporter.collectors.everything import SHIPPED, rule_book
from exporter.faults.rules.rule import Rule

RUNBOOKS = Path(__file__).parents[3] / "docs" / "runbooks"
TOPICS = sorted(path.stem for folder in SHIPPED for path in folder.glob("*.toml"))


def paragraphs(page: Path) -> dict[str, str]:
    """The text under each heading of a page."""
    parts = page.read_text("utf-8").split("\n## ")[1:]
    return {
        heading.strip(): text.strip() for heading, _, text in (p.partition("\n") for p in parts)
    }


@pytest.mark.parametrize("topic", TOPICS)
def test_headings_are_the_rules(topic: str) -> None:
    """Who follows the runbook of a fault finds a paragraph that says what to do."""
    wanted = {rule.runbook for rule in rule_book().rules if Path(rule.file).stem == topic}
    found = paragraphs(RUNBOOKS / f"{topic}.md")
    assert sorted(found) == sorted(wanted)
    assert all(len(text) > 80 for text in found.values())


@pytest.mark.parametrize("rule", [r for r in rule_book().rules if r.escalate], ids=lambda r: r.id)
def test_higher_severity_is_explained(rule: Rule) -> None:
    """Who is called at night reads in the runbook when the fault has its higher severity."""
    text = paragraphs(RUNBOOKS / f"{Path(rule.file).stem}.md")[rule.runbook]
    assert rule.escalate_to in text
