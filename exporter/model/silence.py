"""A silence: faults that are shown but neither page nor count, until a time, for a reason."""

from typing import Any

from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Silence:
    """Faults that are set aside until a time, by somebody, for a reason.

    `rule` and `component` (its id or name) are empty where every rule or component is meant, and
    `hw_type` where every type is; times count seconds since the epoch. `file` is the file it
    stands in, empty for one that was asked for.
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
        """Tell whether a component of this type with one of these names is meant."""
        if not self.component:
            return True
        wanted = plain(self.component)
        is_type = self.hw_type in ("", hw_type)
        return is_type and any(wanted == plain(name) for name in names)


def plain(name: str) -> str:
    """Return a name as it is compared: without blanks, in lower case."""
    return "".join(name.split()).casefold()


def silence_document(silence: Silence | None) -> dict[str, Any] | None:
    """Return until when, by whom and why a fault is silenced; None where it is not."""
    if silence is None:
        return None
    return {
        "id": silence.id,
        "until": round(silence.until, 3),
        "by": silence.by,
        "reason": silence.reason,
    }
