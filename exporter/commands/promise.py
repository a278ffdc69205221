"""A failed check of `selfcheck`."""

from exporter.reports.units import one_line


class Broken(Exception):
    """A failed check; the message says what was found."""

    def __init__(self, found: str) -> None:
        super().__init__(one_line(found))


def expect(is_so: bool, found: str) -> None:  # noqa: FBT001 - reads as an assertion
    """Raise Broken with `found` unless `is_so`."""
    if not is_so:
        raise Broken(found)
