"""What one line of Xid 144 to 150 means: the sub-rule that fits its two words."""

from collections.abc import Iterable
from dataclasses import dataclass

from exporter.model.catalogue import Bits, Nvlink5Rule

FOLLOW_DRIVER = "follow_driver"


@dataclass(frozen=True, slots=True)
class Nvlink5Meaning:
    """How bad a line of Xid 144 to 150 is and what to do; `rule` is None when none fits."""

    fatal: bool
    severity: str  # non_fatal, link_fatal, gpu_fatal
    action: str
    investigate: str
    rule: Nvlink5Rule | None
    promoted: bool = False


def decode_nvlink5(
    rules: Iterable[Nvlink5Rule], *, xid: int, unit: str, word: str, info: int, status: int
) -> Nvlink5Meaning:
    """Return the meaning of a line with this unit, word (Fatal, Nonfatal) and two numbers.

    The layout of `info` changed with driver R575. A rule is taken only when the unit printed in
    the line is its own, and for one unit at most one layout fits. Where no rule fits, the word is
    believed and the driver's own recovery action is to be followed.
    """
    for rule in rules:
        if rule.xid != xid or unit not in rule.units or not _status_fits(rule, status):
            continue
        if _fits_either(rule.v1, rule.v2, info):
            return Nvlink5Meaning(rule.fatal, rule.severity, rule.action, rule.investigate, rule)
        if _fits_either(rule.promoted_v1, rule.promoted_v2, info):
            action = rule.promoted_action or FOLLOW_DRIVER
            return Nvlink5Meaning(
                fatal=True,
                severity="gpu_fatal",
                action=action,
                investigate=rule.investigate,
                rule=rule,
                promoted=True,
            )
    is_fatal = word == "Fatal"
    severity = "link_fatal" if is_fatal else "non_fatal"
    return Nvlink5Meaning(is_fatal, severity, FOLLOW_DRIVER, "contact_vendor", None)


def _status_fits(rule: Nvlink5Rule, status: int) -> bool:
    return not rule.status or status in rule.status


def _fits_either(v1: Bits | None, v2: Bits | None, info: int) -> bool:
    return any(bits.fit(info) for bits in (v1, v2) if bits is not None)
