"""Incidents of what connects cards: PCIe, NVLink, NVSwitches, the fabric."""

from tests.corpus.eleventh.hosts import (
    chassis_of_b200,
    chassis_of_h100,
    chassis_of_h200,
    cloud_of_a10,
    pair_of_a100,
    quad_of_a100,
    quad_of_l4,
    tower_of_a6000,
)
from tests.corpus.eleventh.nodes import GONE, HOUR, SPIN, aborts, loses, starts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, others, waits
from tests.corpus.story import Story
from tests.corpus.words import FELL, NOTHING, REBOOT, RESET

LINKS = ("nvlink_down", "nvlink_errors", "gpu_nvlink_fatal", "nvlink_fatal", *GONE)
LOST = (
    *("gpu_init_failed", "gpu_pcie_link_degraded", "pcie_device_link_degraded", "gpu_hung"),
    *("pcie_device_inaccessible", *GONE),
)


@incident(
    "gpu_lost@*39*",
    may=LOST,
    never=("gpu_ecc_uncorrected", "nvswitch_fatal", "gpu_overheat"),
    unfit=True,
    lasts=("gpu_lost@*39*",),
    fit_at_end=False,
    node=chassis_of_h100,
)
def third_card_is_gone_after_a_checkpoint(node: Story) -> None:
    """Xid 79 in the middle of a step; seven ranks wait for ten minutes, then the job is ended."""
    node.wait(1200, 60)
    node.log(
        "NVRM: GPU at PCI:0000:39:00: GPU-39",
        "NVRM: GPU Board Serial Number: 1652823041167",
    )
    node.xid("39", 79, FELL, pid="'<unknown>'", name="<unknown>")
    node.log(
        "NVRM: GPU 0000:39:00.0: GPU has fallen off the bus.",
        "NVRM: GPU 0000:39:00.0: GPU serial number is 1652823041167.",
    )
    loses(node, "39")
    waits(node, *others(node, "39"))
    node.wait(600, 30)
    aborts(node, "39")
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_lost@*a3*",
    root="pcie_containment@*|pcie_aer_uncorrected@*|gpu_lost@*a3*|pcie_link_down@*",
    may=("pcie_aer_uncorrected", "pcie_link_down", "pcie_containment", *LOST),
    never=("gpu_ecc_uncorrected", "nvme_controller_failed", "pcie_power_fault"),
    unfit=True,
    fit_at_end=False,
    node=quad_of_l4,
)
def port_above_a_small_board_shuts_it_out(node: Story) -> None:
    """The link of an L4 is surprised down: its port contains that, and the board is lost."""
    port = "pcieport 0000:a2:00.0"
    node.wait(900, 60)
    node.log(
        f"{port}: DPC: containment event, status:0x1f01 source:0x0000",
        f"{port}: DPC: unmasked uncorrectable error detected",
        f"{port}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
        "(Receiver ID)",
        f"{port}:   device [8086:352a] error status/mask=00000020/00100000",
        f"{port}:    [ 5] SDES                   (First)",
    )
    node.put("Pcie", "devices", "port a2", errors_by_severity={"fatal": 1})
    node.xid("a3", 79, FELL, pid="4713", name="ffmpeg")
    node.log(
        f"{port}: AER: subordinate device reset failed",
        f"{port}: AER: device recovery failed",
    )
    loses(node, "a3")
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_lost@*1f*",
    may=("nvml_unavailable", "gpu_probe_failed", "source_failed", *LOST),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "net_link_down"),
    unfit=True,
    lasts=("gpu_lost@*1f*",),
    node=cloud_of_a10,
)
def only_card_of_a_guest_is_lost(node: Story) -> None:
    """The one A10G of a guest falls off its bus while it serves; the guest waits for its owner."""
    node.wait(900, 60)
    node.xid("1f", 79, FELL, pid="4711", name="python3")
    node.log("NVRM: GPU 0000:1f:00.0: GPU has fallen off the bus.")
    node.xid("1f", 154, REBOOT)
    loses(node, "1f")
    node.wait(4 * HOUR, 120)


@incident(
    "pcie_aer_corrected_rate@*23*|gpu_pcie_replay_rate@*23*",
    may=("pcie_aer_corrected_rate", "gpu_pcie_replay_rate", "gpu_pcie_link_degraded"),
    never=("gpu_lost", "pcie_aer_uncorrected"),
    unfit=False,
    lasts=("pcie_aer_corrected_rate@*23*|gpu_pcie_replay_rate@*23*",),
    node=quad_of_l4,
)
def slot_of_a_board_is_dusty(node: Story) -> None:
    """Bad packets by the dozen each second on one of four boards, with replays, all day long."""
    node.wait(300, 60)
    node.rate(40.0, "Gpus", "states", "23", "gpu", "pcie_replays_total")
    node.rate(25.0, "Pcie", "devices", "23", "errors_by_severity", "correctable")
    for _ in range(30):
        node.log(
            "pcieport 0000:22:00.0: AER: Multiple Corrected error message received from "
            "0000:23:00.0",
            "nvidia 0000:23:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, "
            "(Receiver ID)",
            "nvidia 0000:23:00.0:   device [10de:27b8] error status/mask=00000040/0000a000",
            "nvidia 0000:23:00.0:    [ 6] BadTLP",
        )
        node.wait(480, 60)


@incident(
    "gpu_pcie_link_degraded@*af*|pcie_device_link_degraded@*af*",
    may=("gpu_pcie_link_degraded", "pcie_device_link_degraded", *SPIN),
    never=("gpu_lost", "gpu_pcie_replay_rate"),
    unfit=False,
    node=pair_of_a100,
)
def riser_gives_four_lanes(node: Story) -> None:
    """The second of two boards works with four of its sixteen lanes since the node was built."""
    node.gpu("af", pcie_link_width=4, utilization_percent=58.0, power_draw_watts=171.0)
    node.gpu("af", power_average_watts=171.0)
    node.put("Pcie", "devices", "af", width=4)
    node.put("Host", uptime_secs=86_000.0)
    node.wait(4 * HOUR, 120)


@incident(
    "nvlink_fatal@*a3*|nvlink_fatal@*c4*|nvlink_down@*a3*|nvlink_down@*c4*",
    may=LINKS,
    never=("gpu_lost", "nvswitch_fatal", "gpu_ecc_uncorrected"),
    unfit=True,
    fit_at_end=False,
    node=quad_of_a100,
)
def link_between_two_a100_breaks(node: Story) -> None:
    """Xid 74 of both ends of a direct link, which stays down; the job ends, and no other starts."""
    node.wait(900, 60)
    for low in ("c4", "a3"):
        node.xid(
            low,
            74,
            "NVLink: fatal error detected on link 3(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
            pid="'<unknown>'",
            name="<unknown>",
        )
        node.gpu(low, nvlink_up={"3": 0}, nvlink_errors_total={"recovery": 2, "replay": 19})
    node.wait(30)
    for number, low in enumerate(node.bus_addresses):
        node.xid(low, 45, "Ch 0000000b", pid=str(4711 + number), name="lmp")
    aborts(node, watts=57.0, heat=31.0)
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_nvlink_fatal@*25*|nvlink_fatal@*25*|nvlink_down@*25*",
    may=LINKS,
    never=("gpu_lost", "gpu_ecc_uncorrected", "nvswitch_fatal"),
    unfit=True,
    fit_at_end=True,
    node=chassis_of_b200,
)
def link_of_a_b200_is_trained_anew_by_a_reset(node: Story) -> None:
    """Xid 149 of link 4, Xid 45 of all ranks; the card is reset, and its link is up again."""
    node.wait(900, 60)
    node.xid(
        "25",
        149,
        "NETIR_LINK_EVT  Fatal   XC0 i0 Link 04 "
        "(0x004525c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
    )
    node.xid("25", 154, RESET)
    node.gpu("25", nvlink_up={"4": 0}, recovery_action="gpu_reset")
    for number, low in enumerate(node.bus_addresses):
        node.xid(low, 45, "Ch 00000004 caused by previous Xid 149", pid=str(4711 + number))
    aborts(node, watts=142.0)
    node.wait(1500, 60)
    is_reset(node, "25")
    node.xid("25", 154, NOTHING)
    node.gpu("25", nvlink_up={"4": 1})
    node.wait(180)
    starts(node, chassis_of_b200, 40_807)
    node.wait(2 * HOUR, 120)


@incident(
    "nvswitch_fatal@*",
    may=(*LINKS, "nvswitch_warning", "fabric_not_ready"),
    never=("gpu_lost", "gpu_ecc_uncorrected", "nvswitch_hot"),
    unfit=True,
    fit_at_end=False,
    node=chassis_of_h100,
)
def switch_waits_for_an_answer_that_never_comes(node: Story) -> None:
    """A source track of an NVSwitch times out; two cards see their link fail and the job ends."""
    switch = "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 24007"
    node.wait(900, 60)
    node.log(
        f"{switch}, Fatal, Link 30 sourcetrack timeout error",
        f"{switch}, Severity 1 Engine instance 30 Sub-engine instance 00",
        f"{switch}, Data {{0x00000020, 0x00000020, 0x00000000, 0x00000020, 0x00000000}}",
    )
    for low in ("4b", "93"):
        node.xid(
            low, 74, "NVLink: fatal error detected on link 9(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
        )
        node.gpu(low, nvlink_up={"9": 0})
    waits(node)
    node.wait(120, 15)
    aborts(node)
    node.wait(3 * HOUR, 120)


@incident(
    "nvlink_errors@*bc*",
    may=("nccl_straggler", "gpu_unlike_siblings", "gpu_unlike_itself"),
    never=("gpu_lost", "nvlink_down", "nvswitch_fatal"),
    unfit=False,
    node=chassis_of_h200,
)
def flits_of_one_card_arrive_damaged(node: Story) -> None:
    """Six hundred flits a second fail their check on one card, with replays and recoveries."""
    node.wait(600, 60)
    place = ("Gpus", "states", "bc", "gpu", "nvlink_errors_total")
    node.rate(600.0, *place, "crc_flit")
    node.rate(210.0, *place, "replay")
    node.rate(0.05, *place, "recovery")
    node.wait(4 * HOUR, 60)


@incident(
    "fabric_not_ready@*",
    may=("nvlink_down", "nvlink_discovery_failed", "nvlink_training_failed", *SPIN),
    never=("gpu_lost", "gpu_init_failed", "driver_version_mismatch"),
    unfit=True,
    gone=("fabric_not_ready",),
    fit_at_end=True,
    node=chassis_of_h200,
)
def fabric_manager_was_masked_in_an_image(node: Story) -> None:
    """A new image starts without a fabric manager: no program can use a card for two hours."""
    node.put("Host", uptime_secs=240.0)
    aborts(node)
    node.gpus(fabric_state="in_progress", fabric_healthy=None)
    node.wait(2 * HOUR, 60)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(300, 30)
    starts(node, chassis_of_h200, 9310)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_init_failed@*2f*",
    may=("gpu_count_low", "gpu_lost", "gpu_probe_failed", "pcie_device_link_degraded", *GONE),
    never=("driver_version_mismatch", "gpu_ecc_uncorrected", "gpu_power_missing"),
    unfit=True,
    node=tower_of_a6000,
)
def board_does_not_start_after_a_transport(node: Story) -> None:
    """A tower is switched on in its new room: the driver starts one of its two boards."""
    node.put("Host", uptime_secs=41.0)
    aborts(node, watts=22.0, heat=31.0)
    node.put("Gpus", states={"2f": None})
    node.log(
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 511",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.230.02  Fri Dec 20 22:39:13 UTC 2024",
    )
    for _ in range(40):
        node.log(
            "NVRM: GPU 0000:2f:00.0: RmInitAdapter failed! (0x26:0x56:1474)",
            "NVRM: GPU 0000:2f:00.0: rm_init_adapter failed, device minor number 0",
        )
        node.wait(300, 60)


CASES = (
    third_card_is_gone_after_a_checkpoint,
    port_above_a_small_board_shuts_it_out,
    only_card_of_a_guest_is_lost,
    slot_of_a_board_is_dusty,
    riser_gives_four_lanes,
    link_between_two_a100_breaks,
    link_of_a_b200_is_trained_anew_by_a_reset,
    switch_waits_for_an_answer_that_never_comes,
    flits_of_one_card_arrive_damaged,
    fabric_manager_was_masked_in_an_image,
    board_does_not_start_after_a_transport,
)
