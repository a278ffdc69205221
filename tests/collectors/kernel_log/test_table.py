"""The rows and the one list of kinds."""

import random
import re

from exporter.collectors.kernel_log.pattern import Role
from exporter.collectors.kernel_log.pattern_file import shipped_lines
from exporter.collectors.kernel_log.table import any_of
from tools.kernel_log_page import kernel_log_page


def test_every_kind_has_a_row_and_every_row_a_kind() -> None:
    """No kind that no line makes, no line of a kind that is not listed; each on the page once."""
    kinds = {row.kind for row in shipped_lines().rows if row.role is not Role.DROPPED}
    assert set(shipped_lines().kinds) == kinds
    kinds_table = kernel_log_page().partition("## What a tenant")[0]
    for kind in kinds:
        assert kinds_table.count(f"| `{kind}` |") == 1


def test_every_row_can_be_reached() -> None:
    """Each row has a tag that is part of what its pattern asks for, and a kind or a loss."""
    for row in shipped_lines().rows:
        assert row.contains
        assert row.kind or row.role is Role.DROPPED


def test_a_search_for_any_of_the_words_finds_what_each_would_find() -> None:
    """Words that begin alike, that hold another, and that have signs of a pattern."""
    words = (b"bcd", b"bce", b"bc.", b"x", b"x.y", b"ab", b"ac*", b"d(")
    search = re.compile(any_of(words)).search
    chance = random.Random(1)  # noqa: S311 - test data
    for _ in range(20_000):
        text = bytes(chance.choice(b"abcdexyz.*(") for _ in range(chance.randrange(8)))
        assert (search(text) is not None) == any(word in text for word in words), text
