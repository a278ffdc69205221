"""Compares the present hardware with the expected hardware."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from exporter.collectors.expect.hardware import HardwareNow, PartsOfKind
from exporter.collectors.expect.values import WORDS, Part, Shortage
from exporter.config.expect import Expect

MEMORY_SHARE = 0.95
"""The kernel keeps up to a few percent of the installed memory for itself."""


def shortages(
    config: Expect, named: Mapping[str, tuple[Part, ...]], hardware: HardwareNow
) -> Iterator[Shortage]:
    """Yield what is not as expected; kinds that cannot be told now are left out."""
    for kind, found in hardware.found.items():
        short = list(_missing(named.get(kind, ()), found, hardware))
        yield from short
        if kind != "nvlink":
            missing = sum(each.missing for each in short)
            yield from _too_few(kind, getattr(config, f"{kind}s"), found, missing)
    yield from _too_few_links(config.nvlinks, hardware, named.get("nvlink", ()))
    yield from _other_models(config.gpu_model, hardware)
    yield from _slow_ports(config.port_rate_gbit, hardware)
    yield from _little_memory(config.memory_gib, hardware.memory_gib)


def _missing(
    wanted: Collection[Part], found: PartsOfKind, hardware: HardwareNow
) -> Iterator[Shortage]:
    """Yield the named parts that are not there, and those in whose place another is.

    A part that is expected too, under another name, is not in its place: names moved at a boot.
    """
    expected = {part.identity for part in wanted if part.identity}
    slots = {part.slot: part for part in found.parts}
    identities = {part.identity for part in found.parts if part.identity}
    for part in wanted:
        if part.identity in identities:
            continue
        if part.kind == "nvlink" and part.slot.rpartition("/")[0] not in hardware.linked:
            continue  # the GPU is missing, with all links, or cannot be read
        there = slots.get(part.slot)
        if there is None:
            yield Shortage(part.kind, part.slot, f"{part.title} is missing")
        elif part.identity and there.identity in expected:
            yield Shortage(part.kind, part.slot, f"{part.title} {part.identity} is missing")
        elif _differs(part, there):
            text = f"{there.title} is not the expected {part.detail} {part.identity}".rstrip()
            yield Shortage(part.kind, part.slot, text, missing=False)


def _differs(wanted: Part, there: Part) -> bool:
    pairs = ((wanted.detail, there.detail), (wanted.identity, there.identity))
    return any(one and other and one != other for one, other in pairs)


def _too_few(kind: str, wanted: int, found: PartsOfKind, named: int) -> Iterator[Shortage]:
    """Yield that parts are missing beyond those that are missing by name."""
    count = len(found.parts)
    if wanted - count > named:
        slots = [part.slot for part in found.parts]
        shown = ", ".join(slots) or "none"
        text = f"{_missing_of(kind, wanted - count, wanted)} missing; here: {shown}"
        yield Shortage(kind, "", text)


def _missing_of(kind: str, missing: int, wanted: int) -> str:
    return f"{missing} of {wanted} expected {WORDS[kind][1]} {'is' if missing == 1 else 'are'}"


def _too_few_links(wanted: int, hardware: HardwareNow, named: Iterable[Part]) -> Iterator[Shortage]:
    """Yield the GPUs that have fewer active NVLinks than each should have."""
    links, gpus = hardware.found.get("nvlink"), hardware.found.get("gpu")
    if not wanted or links is None or gpus is None:
        return
    here = {part.slot for part in links.parts}
    lost = Counter(part.slot.rpartition("/")[0] for part in named if part.slot not in here)
    for gpu in (part for part in gpus.parts if part.slot in hardware.linked):
        missing = wanted - sum(slot.startswith(f"{gpu.slot}/") for slot in here)
        if missing > lost[gpu.slot]:
            numbers = [str(link) for link in range(wanted) if f"{gpu.slot}/{link}" not in here]
            text = f"{_missing_of('nvlink', missing, wanted)} missing: {', '.join(numbers)}"
            yield Shortage("nvlink", gpu.slot, f"{text} of {gpu.title}")


def _other_models(wanted: str, hardware: HardwareNow) -> Iterator[Shortage]:
    """Yield the GPUs whose name does not contain the expected model."""
    found = hardware.found.get("gpu")
    for gpu in found.parts if found and wanted else ():
        if gpu.detail and _plain(wanted) not in _plain(gpu.detail):
            text = f"{gpu.title} is not the expected {wanted}"
            yield Shortage("gpu", gpu.slot, text, missing=False)


def _plain(text: str) -> str:
    """Return letters and digits only: labels of Kubernetes have no spaces."""
    return "".join(filter(str.isalnum, text)).casefold()


def _slow_ports(wanted: float, hardware: HardwareNow) -> Iterator[Shortage]:
    for port, rate in hardware.rates.items():
        if rate < wanted:
            text = f"InfiniBand port {port} has {rate:g} Gbit/s, not the expected {wanted:g}"
            yield Shortage("port", port, text, missing=False)


def _little_memory(wanted: float, found: float | None) -> Iterator[Shortage]:
    if found is not None and found < wanted * MEMORY_SHARE:
        yield Shortage("memory", "", f"{found:.0f} of {wanted:g} GiB of expected memory are there")
