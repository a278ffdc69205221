"""The modes a GPU runs in."""

from exporter.collectors.gpu.nvml_probe.card import NvmlDevice

COMPUTE_MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}


def persistence_mode(card: NvmlDevice) -> bool:
    """Read whether the driver keeps the GPU initialised while nobody uses it."""
    return bool(card.ask("nvmlDeviceGetPersistenceMode"))


def compute_mode(card: NvmlDevice) -> str:
    """Read who may compute on it; raises ValueError for a mode not known here."""
    mode = card.ask("nvmlDeviceGetComputeMode")
    if mode not in COMPUTE_MODES:
        raise ValueError(f"compute mode {mode}")
    return COMPUTE_MODES[mode]


def gsp_enabled(card: NvmlDevice) -> bool:
    """Read whether GSP firmware runs on the GPU."""
    return bool(card.ask("nvmlDeviceGetGspFirmwareMode")[0])


def mig_modes(card: NvmlDevice) -> dict[str, bool]:
    """Read whether the GPU is in MIG mode, and whether it will be after the next reset."""
    current, pending = card.ask("nvmlDeviceGetMigMode")
    return {"mig_enabled": bool(current), "mig_mode_pending": bool(pending)}
