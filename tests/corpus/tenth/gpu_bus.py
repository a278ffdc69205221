"""Incidents of what connects cards: PCIe, NVLink, NVSwitches, the fabric."""

from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import waits
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    GONE,
    HOUR,
    SPIN,
    card_away,
    desk,
    inference_l40s,
    pod_of_a100,
    pod_of_b200,
    pod_of_h100,
    pod_of_h200,
    reboots,
)
from tests.corpus.words import FELL, REBOOT

LINKS = ("nvlink_down", "nvlink_errors", "gpu_nvlink_fatal", "nvlink_fatal", *GONE)
LOST = ("gpu_init_failed", "gpu_pcie_link_degraded", "pcie_device_link_degraded", *GONE)


@incident(
    "gpu_lost@*41*",
    may=("pcie_device_inaccessible", "gpu_probe_failed", *LOST),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_overheat"),
    unfit=True,
    gone=("gpu_lost",),
    fit_at_end=True,
    node=inference_l40s,
)
def board_leaves_its_slot_at_noon(node: Story) -> None:
    """One of four boards is gone at once, three answer requests; a cold boot brings it back."""
    node.wait(600, 60)
    node.log(
        "NVRM: GPU at PCI:0000:41:00: GPU-41",
        "NVRM: GPU Board Serial Number: 1652923045518",
    )
    node.xid("41", 79, FELL, pid="4712", name="vllm")
    node.log(
        "NVRM: GPU 0000:41:00.0: GPU has fallen off the bus.",
        "NVRM: GPU 0000:41:00.0: GPU serial number is 1652923045518.",
        "NVRM: A GPU crash dump has been created. If possible, please run\n"
        "NVRM: nvidia-bug-report.sh as root to collect this data before\n"
        "NVRM: the NVIDIA kernel module is unloaded.",
    )
    card_away(node, "41")
    node.wait(HOUR, 60)
    reboots(node, inference_l40s)
    node.wait(HOUR, 60)


@incident(
    "gpu_lost@*9a*",
    may=("pcie_aer_uncorrected", "gpu_hung", *LOST),
    never=("gpu_ecc_uncorrected", "nvswitch_fatal"),
    unfit=True,
    lasts=("gpu_lost@*9a*",),
    fit_at_end=False,
    node=pod_of_h200,
)
def fifth_card_falls_off_in_the_night(node: Story) -> None:
    """A card falls off, seven ranks spin until the watchdog of the job ends them; nobody is in."""
    node.wait(900, 60)
    node.xid("9a", 79, FELL, pid="4715", name="python3")
    node.log("NVRM: GPU 0000:9a:00.0: GPU has fallen off the bus.")
    node.xid("9a", 154, REBOOT)
    node.lose("9a")
    waits(node, *[bus for bus in node.bus_addresses if bus != "9a"])
    node.wait(1830, 30)
    node.job_ends()
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_init_failed@*65*|gpu_lost@*65*|gpu_count_low@*",
    may=("gpu_count_low", "gpu_init_failed", "gpu_probe_failed", *LOST),
    never=("driver_version_mismatch",),
    unfit=True,
    node=desk,
)
def second_card_is_dead_after_a_move(node: Story) -> None:
    """After the desk was moved the driver cannot start the second card; the first one works."""
    node.wait(300, 60)
    node.job_ends()
    node.wait(120)
    reboots(
        node,
        desk,
        "NVRM: The NVIDIA GPU 0000:65:00.0\n"
        "NVRM: (PCI ID: 10de:26b1) installed in this system has\n"
        "NVRM: fallen off the bus and is not responding to commands.",
        "nvidia: probe of 0000:65:00.0 failed with error -1",
        "NVRM: The NVIDIA probe routine failed for 1 device(s).",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  560.35.05  Wed Sep  4 01:26:51 UTC 2024",
    )
    node.put("Gpus", states={"65": None})
    node.put("Workloads", "clients", **{"4712": None})
    node.put("Workloads", "uses", **{"65": None})
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_pcie_link_degraded@*c2*|pcie_device_link_degraded@*c2*",
    may=("gpu_pcie_link_degraded", "pcie_device_link_degraded", "gpu_pcie_replay_rate", *SPIN),
    never=("gpu_lost", "nvlink_down"),
    unfit=False,
    node=pod_of_h100,
)
def card_comes_back_with_eight_lanes(node: Story) -> None:
    """After a reboot one of eight cards has half of its lanes: its batches arrive late."""
    node.wait(300, 60)
    node.job_ends()
    reboots(node, pod_of_h100)
    node.gpu("c2", pcie_link_width=8, utilization_percent=99.0)
    node.put("Pcie", "devices", "c2", width=8)
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_pcie_replay_rate@*e1*|pcie_aer_corrected_rate@*e*",
    may=("gpu_pcie_replay_rate", "pcie_aer_corrected_rate", "gpu_pcie_link_degraded"),
    never=("gpu_lost", "pcie_aer_uncorrected"),
    unfit=False,
    node=inference_l40s,
)
def riser_is_marginal(node: Story) -> None:
    """Twenty replays a second and corrected errors on one riser, for hours; work goes on."""
    node.wait(300, 60)
    node.rate(20.0, "Gpus", "states", "e1", "gpu", "pcie_replays_total")
    node.rate(12.0, "Pcie", "devices", "e1", "errors_by_severity", "correctable")
    for _ in range(18):
        node.log(
            "pcieport 0000:e0:00.0: AER: Multiple Corrected error message received from "
            "0000:e1:00.0",
            "nvidia 0000:e1:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
            "(Receiver ID)",
            "nvidia 0000:e1:00.0:   device [10de:26b9] error status/mask=00000041/0000a000",
            "nvidia 0000:e1:00.0:    [ 0] RxErr                  (First)",
            "nvidia 0000:e1:00.0:    [ 6] BadTLP",
        )
        node.wait(600, 30)


@incident(
    "gpu_nvlink_fatal@*62*|nvlink_fatal@*62*|nvlink_down@*62*",
    may=LINKS,
    never=("gpu_lost", "nvswitch_fatal"),
    unfit=True,
    node=pod_of_a100,
)
def link_of_one_a100_is_lost(node: Story) -> None:
    """Xid 74 on one link of a card, which stays down; NCCL ends with an error."""
    node.wait(300, 60)
    node.xid(
        "62",
        74,
        "NVLink: fatal error detected on link 7(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
        pid="4714",
        name="python3",
    )
    node.gpu("62", nvlink_up={"7": 0}, nvlink_errors_total={"recovery": 4, "replay": 65})
    node.wait(60)
    node.xid("62", 45, "Ch 00000010", pid="4714", name="python3")
    node.job_ends()
    node.wait(2 * HOUR, 120)


@incident(
    "nvswitch_fatal@*",
    may=(*LINKS, "nvswitch_warning", "fabric_not_ready"),
    never=("gpu_lost", "gpu_ecc_uncorrected"),
    unfit=True,
    node=pod_of_h100,
)
def switch_of_the_baseboard_fails(node: Story) -> None:
    """A port of an NVSwitch has a fatal error: cards lose a link each and the job aborts."""
    switch = "nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 20034"
    node.wait(300, 60)
    node.log(
        f"{switch}, Fatal, Link 33 LTSSM Fault Up",
        f"{switch}, Severity 1 Engine instance 33 Sub-engine instance 00",
        f"{switch}, Data {{0x50610002, 0x10100030, 0x00000000, 0x10100030, 0x00000000}}",
    )
    for bus in ("b2", "c2"):
        node.xid(
            bus, 74, "NVLink: fatal error detected on link 12(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0)"
        )
        node.gpu(bus, nvlink_up={"12": 0})
    node.wait(30)
    node.job_ends()
    node.wait(2 * HOUR, 120)


@incident(
    "nvlink_errors@*4e*",
    may=("nccl_straggler", "gpu_unlike_siblings"),
    never=("gpu_lost", "nvlink_down"),
    unfit=False,
    node=pod_of_h200,
)
def link_replays_without_end(node: Story) -> None:
    """One card's links replay eighty packets a second and recover once a minute, all day."""
    node.wait(300, 60)
    place = ("Gpus", "states", "4e", "gpu", "nvlink_errors_total")
    node.rate(80.0, *place, "replay")
    node.rate(0.02, *place, "recovery")
    node.rate(310.0, *place, "crc_flit")
    node.wait(4 * HOUR, 60)


@incident(
    "fabric_not_ready@*",
    may=("nvlink_down", "nvlink_discovery_failed", "nvlink_training_failed", *SPIN),
    never=("gpu_lost", "gpu_init_failed", "nvswitch_fatal"),
    unfit=True,
    gone=("fabric_not_ready",),
    fit_at_end=True,
    node=pod_of_h100,
)
def fabric_manager_has_another_version(node: Story) -> None:
    """After an upgrade the fabric manager refuses to start; CUDA starts when it fits again."""
    node.wait(300, 60)
    node.job_ends()
    reboots(node, pod_of_h100)
    node.job_ends()
    node.gpus(fabric_state="in_progress", fabric_healthy=None)
    node.wait(2 * HOUR, 60)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(HOUR, 60)


@incident(
    "gpu_nvlink_fatal@*3d*|nvlink_fatal@*3d*",
    may=(*LINKS, "fabric_not_ready", "nvlink_training_failed"),
    never=("gpu_lost", "nvswitch_fatal"),
    unfit=True,
    node=pod_of_b200,
)
def blackwell_link_reports_a_fatal_event(node: Story) -> None:
    """Xid 149 on link 11 of a B200, the peers' channels are torn down, the card wants a reset."""
    node.wait(300, 60)
    node.xid(
        "3d",
        149,
        "NETIR_LINK_EVT Fatal   XC0 i0 Link 11 "
        "(0x025001c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
    )
    node.xid("3d", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    node.gpu("3d", nvlink_up={"11": 0}, recovery_action="gpu_reset")
    for number, bus in enumerate(node.bus_addresses):
        node.xid(bus, 45, "Ch 00000001 caused by previous Xid 149", pid=f"{4711 + number}")
    node.job_ends()
    node.wait(2 * HOUR, 120)


CASES = (
    board_leaves_its_slot_at_noon,
    fifth_card_falls_off_in_the_night,
    second_card_is_dead_after_a_move,
    card_comes_back_with_eight_lanes,
    riser_is_marginal,
    link_of_one_a100_is_lost,
    switch_of_the_baseboard_fails,
    link_replays_without_end,
    fabric_manager_has_another_version,
    blackwell_link_reports_a_fatal_event,
)
