"""What the seven registers of Xid 74 mean (NVLink of Hopper and older)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

UNKNOWN = "unknown"

_BITS: tuple[tuple[int, tuple[int, ...], str, str], ...] = (
    (1, (0, 23, 30), "ignore", "no finding"),
    (1, (1, 20), "sympathetic", "follows another event; a finding only when alone for 24 h"),
    (1, (4, 5), "ecc_or_parity", "hardware when twice in 24 h on the same link"),
    (1, (8, 9, 12, 16, 17, 24, 28), "mechanics", "seat or cable; vendor when twice in 24 h"),
    (1, (21, 22), "weak", "a weak signal: check mechanics after all other errors"),
    (1, (27, 29), "repeated", "vendor when twice in 24 h"),
    (3, (0, 1, 2, 6), "ecc_or_parity", "hardware when twice in 24 h on the same link"),
    (3, (13,), "report", "never expected in production"),
    (3, (16, 19), "diagnostic", "run a diagnostic when it repeats"),
    (3, (17, 18), "repeated", "vendor when it repeats"),
    (4, (16, 17), "sympathetic", "follows another event; a finding when alone"),
    (4, (18,), "sympathetic", "follows another event, but the fabric needs a reset"),
    (5, (18, 19, 21, 22, 24, 25, 27, 28), "ecc_or_parity", "hardware when twice in 24 h"),
    (5, (20, 23, 26, 29), "corrected", "corrected errors reached a threshold; no harm yet"),
)

_BY_PLACE = {(reg, bit): (kind, text) for reg, bits, kind, text in _BITS for bit in bits}


@dataclass(frozen=True, slots=True)
class RegisterFinding:
    """One bit that is set: where (registers count from 1), its class, and what it says."""

    register: int
    bit: int
    kind: str
    text: str


def decode_registers(registers: Sequence[int]) -> tuple[RegisterFinding, ...]:
    """Return what each set bit says, in order; a bit that no table has is of kind unknown.

    The numbers of repeats are those of NVSentinel's rules; NVIDIA's catalogue says "more than
    twice" for the ECC and parity bits.
    """
    return tuple(_findings(registers))


def _findings(registers: Sequence[int]) -> Iterator[RegisterFinding]:
    for number, word in enumerate(registers, start=1):
        for bit in range(word.bit_length()):
            if word >> bit & 1:
                kind, text = _BY_PLACE.get((number, bit), (UNKNOWN, "in no table: report it"))
                yield RegisterFinding(number, bit, kind, text)
