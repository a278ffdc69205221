"""The page about the kinds of events."""

from exporter.sources.kernel_log.patterns.meanings import MEANINGS, kernel_log_page
from exporter.sources.kernel_log.patterns.table import KINDS


def test_every_kind_has_its_sentence_and_its_row() -> None:
    """No kind without a meaning, no meaning without a kind, each on the page once."""
    kinds = {row.name for row in KINDS if row.name}
    assert set(MEANINGS) == kinds
    page = kernel_log_page()
    for kind in kinds:
        assert page.count(f"| `{kind}` |") == 1


def test_every_kind_has_one_type() -> None:
    """Rows of one kind agree on the type of their events."""
    types: dict[str, set[str]] = {}
    for row in KINDS:
        types.setdefault(row.name, set()).add(row.type.value)
    assert {name: found for name, found in types.items() if len(found) > 1} == {}
