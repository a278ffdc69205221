"""`/runbooks/RULE` in every form, and who gets which form."""

import json
from pathlib import Path

import pytest

from exporter.web.answer import PageRequest
from exporter.web.negotiation import Form, wanted_form
from exporter.web.parameters import MalformedQuery
from exporter.web.runbooks import runbook_answer, runbooks
from tests.web.serving import serving, snapshot

PAGES = Path(__file__).parents[2] / "docs" / "runbooks"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


def test_every_heading_of_the_runbooks_is_a_page() -> None:
    """What docs/runbooks/ has is served, word for word."""
    for page in PAGES.glob("*.md"):
        for heading in page.read_text("utf-8").split("\n## ")[1:]:
            rule, _, text = heading.partition("\n")
            assert text.strip() in runbooks()[rule].markdown()


def test_a_runbook_is_text_unless_json_is_wanted() -> None:
    """The sentence and the commands by hand, as text and as fields."""
    text = runbook_answer(PageRequest("/runbooks/gpu_lost"))
    assert text.content_type.startswith("text/plain")
    assert b"fallen off the bus" in text.body
    assert b"nvidia-smi -L" in text.body
    fields = runbook_answer(PageRequest("/runbooks/gpu_lost", accept="application/json"))
    assert json.loads(fields.body)["rule"] == "gpu_lost"


@pytest.mark.parametrize(
    "path", ["/runbooks/no_such_rule", "/runbooks/../VERSION", "/runbooks/a/b"]
)
async def test_a_runbook_that_is_not_there_is_404(path: str) -> None:
    """Names are looked up, never opened as files."""
    async with serving(snapshot()) as node:
        assert (await node.get(path)).status == 404
        assert (await node.get("/runbooks/")).status == 200
        assert node.routes.requests["/runbooks/", 404] == 1


@pytest.mark.parametrize(
    ("query", "accept", "form"),
    [
        ({}, "", Form.JSON),
        ({}, "*/*", Form.JSON),
        ({}, "application/json, text/plain, */*", Form.JSON),
        ({}, BROWSER, Form.HTML),
        ({}, "text/plain", Form.TEXT),
        ({}, "text/html;q=0.1, text/plain", Form.TEXT),
        ({}, "text/html;q=0", Form.JSON),
        ({"format": "text"}, BROWSER, Form.TEXT),
        ({"format": "html"}, "application/json", Form.HTML),
    ],
)
def test_the_form_is_what_is_asked_for(query: dict[str, str], accept: str, form: Form) -> None:
    """The parameter decides, then the heaviest known type; everybody else gets the default."""
    assert wanted_form(query, accept, Form.JSON) is form


def test_an_unknown_form_is_a_malformed_query() -> None:
    """The sentence names all forms."""
    with pytest.raises(MalformedQuery, match="json, html, text"):
        wanted_form({"format": "xml"}, "", Form.JSON)
