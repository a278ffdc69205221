"""A silence: matching faults are shown, but neither page nor count until it ends."""

from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence of faults until a time, with its author and reason.

    `rule`, `hw_type` and `component` (id or name) are empty if they match all. Times are in seconds
    since the epoch. `file` is the file of silences that defines it, empty for a silence made by a
    request.
    """

    id: str
    until: float
    by: str
    reason: str
    since: float = 0.0
    rule: str = ""
    hw_type: str = ""
    component: str = ""
    file: str = ""

    def is_about(self, hw_type: str, *names: str) -> bool:
        """Tell whether the silence matches a component of this type with one of these names."""
        if not self.component:
            return True
        wanted = plain(self.component)
        is_type = self.hw_type in ("", hw_type)
        return is_type and any(wanted == plain(name) for name in names)


def plain(name: str) -> str:
    """Return a name in lower case without blanks, for comparisons."""
    return "".join(name.split()).casefold()
