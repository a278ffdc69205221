"""Incidents of what connects cards: PCIe, NVLink, NVSwitches, the fabric."""

from tests.corpus.eighth.nodes import rtx_4090s
from tests.corpus.eleventh.nodes import GONE, HOUR, SPIN, aborts, loses, starts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, others, releases, waits
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import (
    box_of_b200,
    box_of_h100,
    box_of_h200,
    desk_of_4080,
    four_a100,
    four_l40s,
    two_h100,
)
from tests.corpus.words import FELL, NOTHING, REBOOT

LINKS = ("nvlink_down", "nvlink_errors", "gpu_nvlink_fatal", "nvlink_fatal", *GONE)
LOST = (
    *("gpu_init_failed", "gpu_pcie_link_degraded", "pcie_device_link_degraded", "gpu_hung"),
    *("pcie_device_inaccessible", *GONE),
)
BUS = ("pcie_aer_uncorrected", "pcie_link_down", "pcie_containment", *LOST)


@incident(
    "gpu_lost@*43*",
    may=(*LOST, *LINKS, "nvswitch_fatal", "nvswitch_warning"),
    never=("gpu_ecc_uncorrected", "gpu_overheat", "driver_version_mismatch"),
    unfit=True,
    lasts=("gpu_lost@*43*",),
    fit_at_end=False,
    node=box_of_h100,
)
def switches_see_the_links_of_a_lost_card(node: Story) -> None:
    """A card falls off the bus in a step; both switches report the links to it some time later."""
    node.wait(1800, 60)
    node.xid("43", 79, FELL, pid="'<unknown>'", name="<unknown>")
    node.log(
        "NVRM: GPU 0000:43:00.0: GPU has fallen off the bus.",
        "NVRM: GPU 0000:43:00.0: GPU serial number is 1654022098114.",
    )
    loses(node, "43")
    waits(node, *others(node, "43"))
    node.wait(15)
    for number, link in ((0, 40), (2, 57)):
        switch = f"nvidia-nvswitch{number}: SXid (PCI:0000:0{5 + number}:00.0): 20034"
        node.log(
            f"{switch}, Fatal, Link {link} LTSSM Fault Up",
            f"{switch}, Severity 1 Engine instance {link} Sub-engine instance 00",
            f"{switch}, Data {{0x{link:08x}, 0x{link:08x}, 0x00000000, 0x{link:08x}, 0x80000000}}",
        )
    node.wait(480, 30)
    aborts(node, "43")
    node.wait(4 * HOUR, 120)


@incident(
    "gpu_lost@*ad*",
    root="pcie_aer_uncorrected@*|pcie_link_down@*|gpu_lost@*ad*|pcie_containment@*",
    may=BUS,
    never=("gpu_ecc_uncorrected", "nvme_controller_failed", "pcie_power_fault"),
    unfit=True,
    fit_at_end=False,
    node=four_a100,
)
def link_below_a_port_goes_down_in_a_run(node: Story) -> None:
    """The slot of an A100 loses its link after a fatal error: the card is lost until somebody."""
    port = "pcieport 0000:ac:00.0"
    node.wait(1200, 60)
    node.log(
        f"{port}: AER: Uncorrected (Fatal) error message received from 0000:ac:00.0",
        f"{port}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
        "(Receiver ID)",
        f"{port}:   device [1022:1483] error status/mask=00000020/04400000",
        f"{port}:    [ 5] SDES                   (First)",
        f"{port}: pciehp: Slot(4): Link Down",
    )
    node.put("Pcie", "devices", "port ac", errors_by_severity={"fatal": 1})
    node.xid("ad", 79, FELL, pid="4714", name="namd3")
    loses(node, "ad")
    waits(node, *others(node, "ad"), watts=88.0)
    node.wait(120, 30)
    aborts(node, "ad", watts=62.0, heat=30.0)
    node.wait(4 * HOUR, 120)


@incident(
    "gpu_lost@*02*",
    may=("nvml_unavailable", "gpu_probe_failed", "source_failed", *BUS),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_power_missing"),
    unfit=True,
    lasts=("gpu_lost@*02*",),
    fit_at_end=False,
    node=desk_of_4080,
)
def desk_loses_its_card_in_a_game_of_numbers(node: Story) -> None:
    """The only card of a desk is gone in the middle of a run, and the screen stays black."""
    node.wait(900, 60)
    node.xid("02", 79, FELL, pid="4711", name="python3.12")
    node.log("NVRM: GPU 0000:02:00.0: GPU has fallen off the bus.")
    node.xid("02", 154, REBOOT)
    loses(node, "02")
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_lost@*df*",
    may=LOST,
    never=("gpu_ecc_uncorrected", "nvswitch_fatal", "driver_version_mismatch"),
    unfit=True,
    lasts=("gpu_lost@*df*",),
    fit_at_end=False,
    node=box_of_h200,
)
def eighth_card_is_gone_between_two_jobs(node: Story) -> None:
    """A card falls off the bus while the node is idle; a health check finds that at once."""
    node.wait(600, 60)
    aborts(node)
    node.wait(1800, 60)
    node.xid("df", 79, FELL, pid="'<unknown>'", name="<unknown>")
    node.log("NVRM: GPU 0000:df:00.0: GPU has fallen off the bus.")
    node.xid("df", 154, REBOOT)
    node.lose("df")
    node.wait(4 * HOUR, 120)


@incident(
    "gpu_pcie_link_degraded@*8a*|pcie_device_link_degraded@*8a*",
    may=("gpu_pcie_link_degraded", "pcie_device_link_degraded", *SPIN),
    never=("gpu_lost", "gpu_pcie_replay_rate"),
    unfit=False,
    lasts=("gpu_pcie_link_degraded@*8a*|pcie_device_link_degraded@*8a*",),
    node=four_l40s,
)
def board_came_back_from_service_with_eight_lanes(node: Story) -> None:
    """One of four boards has eight of sixteen lanes since it was put back into its slot."""
    node.put("Host", uptime_secs=5200.0)
    node.gpu("8a", pcie_link_width=8)
    node.put("Pcie", "devices", "8a", width=8)
    node.wait(5 * HOUR, 120)


@incident(
    "pcie_aer_corrected_rate@*41*|gpu_pcie_replay_rate@*41*",
    may=("pcie_aer_corrected_rate", "gpu_pcie_replay_rate", "gpu_pcie_link_degraded"),
    never=("gpu_lost", "pcie_aer_uncorrected"),
    unfit=False,
    node=rtx_4090s,
)
def riser_of_a_rented_rig_is_too_long(node: Story) -> None:
    """A board on a long riser replays packets by the hundred each second under load."""
    node.wait(600, 60)
    node.rate(180.0, "Gpus", "states", "41", "gpu", "pcie_replays_total")
    node.rate(150.0, "Pcie", "devices", "41", "errors_by_severity", "correctable")
    for _ in range(36):
        node.log(
            "pcieport 0000:40:00.0: AER: Multiple Corrected error message received from "
            "0000:41:00.0",
            "nvidia 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, "
            "(Transmitter ID)",
            "nvidia 0000:41:00.0:   device [10de:2684] error status/mask=00001080/0000a000",
            "nvidia 0000:41:00.0:    [ 7] BadDLLP",
            "nvidia 0000:41:00.0:    [12] Timeout                (First)",
        )
        node.wait(300, 60)


@incident(
    "gpu_nvlink_fatal@*61*|nvlink_fatal@*61*|nvlink_down@*61*",
    may=(*LINKS, "nvswitch_fatal", "nvswitch_warning"),
    never=("gpu_lost", "gpu_ecc_uncorrected"),
    unfit=True,
    fit_at_end=True,
    node=box_of_h100,
)
def reset_of_all_cards_trains_a_link_anew(node: Story) -> None:
    """Xid 74 of link 12 ends a job; all eight cards are reset together, then all links are up."""
    node.wait(1200, 60)
    node.xid(
        "61",
        74,
        "NVLink: fatal error detected on link 12(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
        pid="'<unknown>'",
        name="<unknown>",
    )
    node.gpu("61", nvlink_up={"12": 0}, nvlink_errors_total={"recovery": 1})
    for number, low in enumerate(node.bus_addresses):
        node.xid(low, 45, "Ch 0000000c", pid=str(4711 + number), name="torchrun_worker")
    aborts(node)
    node.wait(1800, 60)
    releases(node, 90)
    fresh = {"crc_flit": 0, "crc_data": 0, "replay": 0, "recovery": 0}
    node.gpus(nvlink_errors_total=fresh)
    node.gpu("61", nvlink_up={"12": 1})
    node.wait(300, 30)
    starts(node, box_of_h100, 37_020)
    node.wait(3 * HOUR, 120)


@incident(
    "nvlink_down@*d1*|gpu_nvlink_fatal@*d1*|nvlink_fatal@*d1*",
    may=LINKS,
    never=("gpu_lost", "gpu_ecc_uncorrected", "driver_version_mismatch"),
    unfit=True,
    fit_at_end=False,
    node=box_of_b200,
)
def link_of_a_b200_is_not_trained_again(node: Story) -> None:
    """Xid 149 of link 9 of a B200; a reset does not bring the link back, the node is drained."""
    node.wait(1500, 60)
    node.xid(
        "d1",
        149,
        "NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 "
        "(0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
    )
    node.xid("d1", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    node.gpu("d1", nvlink_up={"9": 0}, recovery_action="reset")
    for number, low in enumerate(node.bus_addresses):
        node.xid(low, 45, "Ch 00000006 caused by previous Xid 149", pid=str(4711 + number))
    aborts(node, watts=144.0)
    node.wait(1200, 60)
    is_reset(node, "d1")
    node.xid("d1", 154, NOTHING)
    node.wait(3 * HOUR, 120)


@incident(
    "nvswitch_fatal@*|nvswitch_warning@*",
    may=(*LINKS, "nvswitch_warning", "nvswitch_fatal", "fabric_not_ready"),
    never=("gpu_lost", "gpu_ecc_uncorrected", "nvswitch_hot"),
    node=box_of_h200,
)
def crumbs_of_a_switch_time_out(node: Story) -> None:
    """A transaction times out in an NVSwitch, whose port locks up: the job hangs and is killed."""
    switch = "nvidia-nvswitch3: SXid (PCI:0000:08:00.0): 14017"
    node.wait(1200, 60)
    node.log(
        f"{switch}, Fatal, Link 45 TS ATO timeout",
        f"{switch}, Severity 1 Engine instance 45 Sub-engine instance 00",
        f"{switch}, Data {{0x00000004, 0x00000004, 0x00000000, 0x00000004, 0x00000000}}",
    )
    waits(node, watts=150.0)
    node.wait(900, 30)
    aborts(node)
    node.wait(3 * HOUR, 120)


@incident(
    "nvlink_errors@*41*|nvlink_errors@*e2*",
    may=("nvlink_errors", "nccl_straggler", "gpu_unlike_siblings", "gpu_unlike_itself"),
    never=("gpu_lost", "nvlink_down"),
    unfit=False,
    node=two_h100,
)
def bridge_between_two_boards_sits_askew(node: Story) -> None:
    """Both ends of a bridge count damaged flits by the hundred each second after a move."""
    node.wait(600, 60)
    for low, flits in (("41", 480.0), ("e2", 390.0)):
        place = ("Gpus", "states", low, "gpu", "nvlink_errors_total")
        node.rate(flits, *place, "crc_flit")
        node.rate(flits / 3.0, *place, "replay")
        node.rate(0.04, *place, "recovery")
    node.wait(4 * HOUR, 60)


@incident(
    "fabric_not_ready@*9d*",
    may=("nvlink_down", "nvlink_training_failed", "nvlink_discovery_failed", *SPIN),
    never=("gpu_lost", "gpu_init_failed", "driver_version_mismatch"),
    unfit=True,
    gone=("fabric_not_ready",),
    fit_at_end=True,
    node=box_of_b200,
)
def one_card_does_not_register_after_its_reset(node: Story) -> None:
    """A card is reset in a planned way and is not registered in the fabric for an hour."""
    node.wait(600, 60)
    aborts(node, watts=144.0)
    node.wait(300, 60)
    is_reset(node, "9d")
    node.gpu("9d", fabric_state="in_progress", fabric_healthy=None)
    node.wait(HOUR, 60)
    is_reset(node, "9d")
    node.gpu("9d", fabric_state="completed", fabric_healthy=True)
    node.wait(240, 30)
    starts(node, box_of_b200, 27_700)
    node.wait(2 * HOUR, 120)


CASES = (
    switches_see_the_links_of_a_lost_card,
    link_below_a_port_goes_down_in_a_run,
    desk_loses_its_card_in_a_game_of_numbers,
    eighth_card_is_gone_between_two_jobs,
    board_came_back_from_service_with_eight_lanes,
    riser_of_a_rented_rig_is_too_long,
    reset_of_all_cards_trains_a_link_anew,
    link_of_a_b200_is_not_trained_again,
    crumbs_of_a_switch_time_out,
    bridge_between_two_boards_sits_askew,
    one_card_does_not_register_after_its_reset,
)
