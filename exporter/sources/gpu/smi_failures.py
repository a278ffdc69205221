"""How nvidia-smi says that something is wrong: sentences and exit codes, as one word each."""

import re
from collections.abc import Iterator

from exporter.model.pci import pci_address
from exporter.sources.gpu.backend import GpuProblem

SENTENCES = (
    (r"driver/library version mismatch", "version_mismatch"),
    (r"no devices were found", "no_devices"),
    (r"couldn't communicate with the nvidia driver|driver not loaded", "driver_not_loaded"),
    (r"couldn't find libnvidia-ml|libnvidia-ml.*not found", "no_library"),
    (r"insufficient (external )?power|power cables", "insufficient_power"),
    (r"requires reset|reset required", "reset_required"),
    (r"gpu is lost|unable to determine the device handle|reboot the system", "gpu_lost"),
    (r"insufficient permissions|permission denied", "no_permission"),
    (r"blocked by the operating system|operation not permitted", "blocked_by_system"),
)
_SENTENCES = tuple((re.compile(pattern, re.IGNORECASE), word) for pattern, word in SENTENCES)

WARNING_CODE = 14
"""The infoROM is damaged: a warning, the data are whole."""

EXIT_CODES = {
    2: "invalid_argument",
    3: "not_supported",
    4: "no_permission",
    6: "no_devices",
    8: "insufficient_power",
    9: "driver_not_loaded",
    10: "timeout",
    11: "irq_issue",
    12: "no_library",
    13: "old_driver",
    15: "gpu_lost",
    16: "reset_required",
    17: "blocked_by_system",
    18: "version_mismatch",
    126: "no_program",
    127: "no_program",
}
"""Exit codes of nvidia-smi (`man nvidia-smi`, return value) and of what starts programs."""

UNKNOWN_FIELD = re.compile(r'Field "([^"]{1,80})" is not a valid field')

_HANDLE = re.compile(
    r"device handle for gpu ?(?P<index>\d{1,3})?(?=[:\s])[:\s]*"
    r"(?P<bus>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)?",
    re.IGNORECASE,
)
_HANDLE_BY_BUS = re.compile(
    r"(?:device handle for gpu|gpu) ?(?P<bus>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)",
    re.IGNORECASE,
)


def reason_of_failure(code: int | None, text: str) -> str | None:
    """Why a run failed, in one word; None for a good one."""
    if code in (0, WARNING_CODE):
        return None
    for pattern, reason in _SENTENCES:
        if pattern.search(text):
            return reason
    if code is not None and code < 0:
        return "crashed"
    return EXIT_CODES.get(code or 0, "unknown_error")


def lost_gpus(line: str) -> Iterator[GpuProblem]:
    """A GPU named by a sentence among the rows: by its place, its bus address, or both."""
    match = _HANDLE_BY_BUS.search(line) or _HANDLE.search(line)
    if match is None:
        return
    found = match.groupdict()
    index, bus = found.get("index"), found.get("bus")
    if index or bus:
        yield GpuProblem(
            reason=reason_of_failure(None, line) or "gpu_lost",
            index=int(index) if index else None,
            pci_bus_id=pci_address(bus) if bus else None,
        )
