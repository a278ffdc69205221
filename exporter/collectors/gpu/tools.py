"""What a person types for a GPU, and has to know before: each vendor has its own programs."""

from exporter.collectors.gpu.values import Gpu
from exporter.collectors.pcie.address import pci_address

REBIND = (
    "pci={place}; driver=$(readlink -f /sys/bus/pci/devices/$pci/driver);"
    " echo $pci > $driver/unbind && echo 1 > /sys/bus/pci/devices/$pci/reset;"
    " echo $pci > $driver/bind"
)
"""The kernel resets a card without asking its driver, which must not be bound meanwhile.

See "Device Wedging" of https://docs.kernel.org/gpu/drm-uapi.html.
"""

TEXTS = {
    "reset_command": {
        "nvidia": "nvidia-smi --gpu-reset -i {place}",
        "amd": "amd-smi reset --gpureset --gpu {place}",
        "ascend": "npu-smi set -t reset -i {gpu.npu_id} -c {gpu.chip_id}",
        "": REBIND,
    },
    "reset_note": {
        "nvidia": "and let the exporter release it: `curl -X POST localhost:8080/-/quiesce`",
        "amd": "and on those that xGMI joins to it, which are reset too",
        "ascend": "and on all NPUs of the server, where its model resets them together",
        "": "and what else uses it",
    },
    "diagnostic": {
        "nvidia": "`dcgmi diag -r 3 -i {gpu.index}`",
        "amd": "`rvs -r 3 -i` and its number in `rvs -g`",
        "": "of its vendor",
    },
    "power_limit_help": {
        "nvidia": "`nvidia-smi -q -d POWER` shows it, `nvidia-smi -i {gpu.index} -pl` sets it",
        "amd": "`amd-smi static --limit --gpu {place}` shows it,"
        " `amd-smi set --gpu {place} --power-cap` sets it",
        "": "with the program of its vendor",
    },
}
"""By field and vendor; the last is for any other.

The address names a GPU, because numbers change when one is lost. NVIDIA resets no GPU that a
program has open; AMD resets all of a hive ("GPU reset behavior on XGMI systems" of AMD SMI), Atlas
servers of A2 all their NPUs ("NPU Environment Restoration" of Ascend DMI).
"""


def text_of(gpu: Gpu, name: str) -> str:
    """Return the text of this name for this GPU."""
    pci = pci_address(gpu.pci_bus_id)
    texts = TEXTS[name]
    text = texts.get(gpu.vendor or "", texts[""])
    if text == REBIND and not pci:
        return "reboot"
    return text.format(gpu=gpu, place=pci or gpu.uuid)
