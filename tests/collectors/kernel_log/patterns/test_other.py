"""Further wordings of drivers and of the kernel: cards, disks, filesystems and the rest."""

import pytest

from tests.collectors.kernel_log.feeding import events_of, expect_one_event
from tests.collectors.kernel_log.patterns import (
    other_cards,
    other_disks,
    other_filesystems,
    other_kernel,
)

TABLES = (other_cards, other_disks, other_filesystems, other_kernel)


@pytest.mark.parametrize(
    ("kind", "subject", "fields", "lines"), [case for table in TABLES for case in table.CASES]
)
def test_wording_is_one_event(
    kind: str,
    subject: tuple[str, str],
    fields: dict[str, str | None],
    lines: tuple[str, ...] | str,
) -> None:
    """Each wording makes exactly one event, about what its line names."""
    expect_one_event(kind, subject, fields, lines)


@pytest.mark.parametrize("line", [line for table in TABLES for line in table.QUIET])
def test_line_beside_them_is_quiet(line: str) -> None:
    """A line of the same driver that says no trouble makes no event."""
    assert events_of(line) == ()
