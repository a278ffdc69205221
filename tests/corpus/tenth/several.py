"""Several faults with one cause, cards of other makers, incidents that come back."""

from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, mi250s, waits
from tests.corpus.parts import DIMM
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    BROKEN_DISK,
    GONE,
    HOUR,
    WAITING,
    card_away,
    database,
    desk,
    inference_l40s,
    job_starts,
    pod_of_h100,
    pod_of_h200,
    reboots,
)
from tests.corpus.words import FELL, LOADS, NOTHING, RESET

AMD = (
    *("gpu_reset_required", "gpu_recovery_required", "gpu_reset_failed", "gpu_page_fault"),
    *("gpu_hung", *GONE),
)


@incident(
    "pcie_containment@*",
    root="pcie_containment@*|pcie_aer_uncorrected@*",
    may=(
        *BROKEN_DISK,
        *WAITING,
        "pcie_aer_uncorrected",
        "pcie_link_down",
        "pcie_nvme_missing",
        "nvme_controller_failed",
        "nvme_timeout",
        "pcie_device_inaccessible",
        "source_failed",
    ),
    never=("gpu_lost", "pcie_power_fault"),
    unfit=True,
    node=database,
)
def port_above_a_disk_contains_an_error(node: Story) -> None:
    """A fatal error below a port: DPC cuts off a disk of the mirror, which is not recovered."""
    node.wait(600, 60)
    node.log(
        "pcieport 0000:5b:00.0: DPC: containment event, status:0x1f01 source:0x0000",
        "pcieport 0000:5b:00.0: DPC: unmasked uncorrectable error detected",
        "pcieport 0000:5b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), "
        "type=Transaction Layer, (Receiver ID)",
        "pcieport 0000:5b:00.0:   device [8086:352a] error status/mask=00040000/00100000",
        "pcieport 0000:5b:00.0:    [18] MalfTLP                (First)",
        "nvme nvme1: frozen state error detected, reset controller",
        "pcieport 0000:5b:00.0: AER: subordinate device reset failed",
        "pcieport 0000:5b:00.0: AER: device recovery failed",
        "nvme nvme1: Disabling device after reset failure: -19",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.put("NvmeHealths", controllers={"nvme1": None})
    node.put("Pcie", "devices", "5b", errors_by_severity={"fatal": 1})
    node.put("Filesystems", "filesystems", "/data", unreachable=True, size_bytes=None)
    node.wait(2 * HOUR, 120)


@incident(
    "pcie_link_down@*",
    root="pcie_link_down@*",
    may=(
        *BROKEN_DISK,
        *WAITING,
        "nvme_controller_failed",
        "pcie_nvme_missing",
        "nvme_timeout",
        "pcie_device_inaccessible",
        "source_failed",
        "disk_offline",
    ),
    never=("gpu_lost", "pcie_network_card_missing"),
    unfit=True,
    node=pod_of_h200,
)
def drawer_of_a_disk_opens_by_itself(node: Story) -> None:
    """The slot of a data disk says that its link is down: the disk is gone with its filesystem."""
    node.wait(600, 60)
    node.log(
        "pcieport 0000:5b:00.0: pciehp: Slot(1): Link Down",
        "pcieport 0000:5b:00.0: pciehp: Slot(1): Card not present",
        "nvme1n1: detected capacity change from 7501476528 to 0",
        "XFS (nvme1n1): Unmounting Filesystem",
    )
    node.put("Pcie", "devices", **{"5f": None})
    node.put("NvmeControllers", controllers={"nvme1": None})
    node.put("NvmeHealths", controllers={"nvme1": None})
    node.put("Disks", disks={"nvme1n1": None})
    node.put("Filesystems", filesystems={"/data": None})
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_lost@*c2*",
    root="pcie_aer_uncorrected@*|gpu_lost@*c2*|pcie_link_down@*|pcie_containment@*",
    may=(*GONE, "pcie_aer_uncorrected", "pcie_device_inaccessible", "pcie_link_down"),
    never=("gpu_ecc_uncorrected", "nvswitch_fatal", "gpu_gsp_failure"),
    unfit=True,
    node=pod_of_h100,
)
def completion_never_comes_and_the_card_is_lost(node: Story) -> None:
    """A fatal AER error on the port of one card and Xid 79 in the same second."""
    node.wait(600, 60)
    node.log(
        "pcieport 0000:c0:00.0: AER: Uncorrected (Fatal) error message received from 0000:c2:00.0",
        "nvidia 0000:c2:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), "
        "type=Inaccessible, (Unregistered Agent ID)",
    )
    node.put("Pcie", "devices", "c2", errors_by_severity={"fatal": 1})
    node.xid("c2", 79, FELL, pid="4717", name="python3")
    card_away(node, "c2")
    waits(node, *[bus for bus in node.bus_addresses if bus != "c2"])
    node.wait(900, 30)
    node.job_ends()
    node.wait(2 * HOUR, 120)


@incident(
    "memory_corrected_rate@*",
    "filesystem_full@*",
    root=("memory_corrected_rate@*", "filesystem_full@*"),
    may=("firmware_hardware_error", "machine_check_corrected_rate", "memory_page_offlined"),
    never=("memory_uncorrected", "filesystem_readonly", "disk_io_errors"),
    unfit=False,
    node=database,
)
def full_disk_beside_a_weak_module(node: Story) -> None:
    """Two things that have nothing to do with each other go on in the same evening."""
    node.wait(300, 60)
    node.rate(1.2, "MemoryErrors", "controllers", "mc1", "corrected_errors")
    node.rate(1.2, "MemoryErrors", "controllers", "mc1", "dimms", "a", "corrected_errors")
    node.log(f"EDAC MC1: 18 CE memory read error on {DIMM} (channel:0 slot:0 page:0x88a1)")
    node.wait(1800, 60)
    for left in (90, 30, 6, 1):
        free = left * 10**9
        node.put("Filesystems", "filesystems", "/data", free_bytes=free, available_bytes=free)
        node.wait(600, 60)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_lost@*21*",
    may=(*GONE, "gpu_suspect_hardware", "gpu_init_failed", "gpu_pcie_link_degraded"),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch"),
    unfit=True,
    fit_at_end=False,
    node=inference_l40s,
)
def lost_board_is_lost_again_after_its_reboot(node: Story) -> None:
    """The first board falls off, the node is rebooted, and four hours later it falls off again."""
    node.wait(600, 60)
    node.xid("21", 79, FELL, pid="4711", name="vllm")
    card_away(node, "21")
    node.wait(HOUR, 60)
    reboots(node, inference_l40s)
    node.wait(4 * HOUR, 120)
    node.xid("21", 79, FELL, pid="4711", name="vllm")
    card_away(node, "21")
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_reset_required@*1a*|gpu_recovery_required@*1a*|gpu_gsp_failure@*1a*",
    may=(*GONE, "gpu_gsp_failure", "gpu_suspect_hardware", "gpu_hung"),
    never=("gpu_lost", "gpu_ecc_uncorrected"),
    unfit=True,
    fit_at_end=True,
    node=pod_of_h200,
)
def reset_helps_for_an_hour_each_time(node: Story) -> None:
    """The GSP of one card times out, is reset, works for an hour, and the same comes once more."""
    rpc = "Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 103"
    for _ in range(2):
        node.wait(HOUR, 60)
        node.xid("1a", 119, f"{rpc} (GSP_RM_ALLOC) (0x80 0x38).", pid="4711", name="python3")
        node.xid("1a", 154, RESET)
        node.gpu("1a", recovery_action="gpu_reset")
        node.job_ends()
        node.wait(600, 30)
        is_reset(node, "1a")
        node.xid("1a", 154, NOTHING)
        node.wait(60)
        job_starts(node, pod_of_h200)
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_ring_timeout@*",
    may=AMD,
    never=("gpu_ecc_uncorrected", "gpu_lost", "driver_version_mismatch"),
    node=mi250s,
)
def compute_ring_of_an_instinct_times_out(node: Story) -> None:
    """Work on one half of an MI250X does not end, the driver resets the card and goes on."""
    bus = node.bus_addresses[2]
    card = f"amdgpu 0000:{bus}:00.0: amdgpu"
    node.wait(600, 60)
    node.log(
        f"{card}: ring comp_1.2.0 timeout, signaled seq=481223, emitted seq=481226",
        f"{card}: Process information: process python3 pid 4713 thread python3 pid 4713",
        f"{card}: GPU reset begin!",
    )
    node.wait(15)
    node.log(f"{card}: MODE2 reset", f"{card}: GPU reset succeeded, trying to resume")
    node.log(f"{card}: GPU reset(1) succeeded!")
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_ecc_uncorrected@*",
    may=AMD,
    never=("gpu_lost", "driver_version_mismatch", "memory_uncorrected"),
    unfit=True,
    node=mi250s,
)
def umc_of_an_instinct_finds_two_wrong_bits(node: Story) -> None:
    """The driver reports an uncorrectable error of the memory of one card; a process is killed."""
    bus = node.bus_addresses[5]
    card = f"amdgpu 0000:{bus}:00.0: amdgpu"
    node.wait(600, 60)
    node.log(
        f"{card}: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        f"{card}: 1 uncorrectable hardware errors detected in umc block",
        f"{card}: 1 new uncorrectable hardware errors detected in umc block",
    )
    node.gpu(bus, ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_lost@*65*",
    may=(*GONE, "gpu_init_failed", "gpu_probe_failed", "nvml_unavailable", "source_failed"),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch"),
    unfit=True,
    fit_at_end=True,
    node=desk,
)
def loading_the_driver_anew_finds_the_card(node: Story) -> None:
    """A card of a desk falls off; the slot is rescanned, the module loaded anew, and it is back."""
    node.wait(600, 60)
    node.xid("65", 79, FELL, pid="4712", name="blender")
    card_away(node, "65")
    node.wait(1200, 60)
    node.job_ends()
    node.wait(120)
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver", "nvml_up": None})
    node.put("Gpus", states={"17": None, "65": None})
    node.wait(60)
    node.log(LOADS.replace("570.124.06", "560.35.05"))
    node.wait(15)
    job_starts(node, desk)
    node.wait(2 * HOUR, 120)


CASES = (
    port_above_a_disk_contains_an_error,
    drawer_of_a_disk_opens_by_itself,
    completion_never_comes_and_the_card_is_lost,
    full_disk_beside_a_weak_module,
    lost_board_is_lost_again_after_its_reboot,
    reset_helps_for_an_hour_each_time,
    compute_ring_of_an_instinct_times_out,
    umc_of_an_instinct_finds_two_wrong_bits,
    loading_the_driver_anew_finds_the_card,
)
