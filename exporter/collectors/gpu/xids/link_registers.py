"""Decodes the numbers in Xid 74 (Hopper and older) and 144 to 150 (Blackwell)."""

from collections.abc import Iterable, Sequence

from exporter.collectors.gpu.words import UNKNOWN
from exporter.collectors.gpu.xids.catalogue import Bits, Nvlink5Rule
from exporter.record import dataclass

FOLLOW_DRIVER = "follow_driver"
HARMLESS_KINDS = frozenset({"ignore", "sympathetic", "corrected"})

_KINDS: tuple[tuple[int, tuple[int, ...], str], ...] = (
    (1, (0, 23, 30), "ignore"),
    (1, (1, 20), "sympathetic"),  # follows another event
    (1, (4, 5), "ecc_or_parity"),
    (1, (8, 9, 12, 16, 17, 24, 28), "mechanics"),  # seat or cable
    (1, (21, 22), "weak"),  # check mechanics after all other errors
    (1, (27, 29), "repeated"),  # for the vendor when twice in 24 h
    (3, (0, 1, 2, 6), "ecc_or_parity"),
    (3, (13,), "report"),  # never expected in production
    (3, (16, 19), "diagnostic"),
    (3, (17, 18), "repeated"),
    (4, (16, 17), "sympathetic"),
    (4, (18,), "sympathetic"),  # but the fabric needs a reset
    (5, (18, 19, 21, 22, 24, 25, 27, 28), "ecc_or_parity"),
    (5, (20, 23, 26, 29), "corrected"),  # errors that were corrected reached a threshold
)
"""Registers of Xid 74 (counted from 1) and their bits, by what a set bit is."""

_KIND_OF = {(register, bit): kind for register, bits, kind in _KINDS for bit in bits}


def register_kinds(registers: Sequence[int]) -> frozenset[str]:
    """Return the kinds of the bits that are set; one that no table has is unknown."""
    return frozenset(
        _KIND_OF.get((number, bit), UNKNOWN)
        for number, word in enumerate(registers, start=1)
        for bit in range(word.bit_length())
        if word >> bit & 1
    )


@dataclass(frozen=True, slots=True)
class Nvlink5Meaning:
    """Whether a line of Xid 144 to 150 is fatal and what to do; `rule` is None when none fits."""

    fatal: bool
    action: str
    rule: Nvlink5Rule | None


def decode_nvlink5(
    rules: Iterable[Nvlink5Rule], *, xid: int, unit: str, word: str, info: int, status: int
) -> Nvlink5Meaning:
    """Return the meaning of a line with this unit, word (Fatal, Nonfatal) and two numbers.

    The layout of `info` changed with driver R575. A rule is taken only when the unit printed in
    the line is its own, and for one unit at most one layout fits. Where no rule fits, the word is
    believed and the driver's own recovery action is to be followed.
    """
    for rule in rules:
        if rule.xid != xid or unit not in rule.units:
            continue
        if rule.status and status not in rule.status:
            continue
        if _fits_either(rule.v1, rule.v2, info):
            return Nvlink5Meaning(rule.fatal, rule.action, rule)
        if _fits_either(rule.promoted_v1, rule.promoted_v2, info):
            return Nvlink5Meaning(
                fatal=True, action=rule.promoted_action or FOLLOW_DRIVER, rule=rule
            )
    return Nvlink5Meaning(word == "Fatal", FOLLOW_DRIVER, None)


def _fits_either(v1: Bits | None, v2: Bits | None, info: int) -> bool:
    return any(bits.fit(info) for bits in (v1, v2) if bits is not None)
