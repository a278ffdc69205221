"""Incidents of what connects cards: PCIe, NVLink, NVSwitches, the fabric."""

from tests.corpus.eleventh.nodes import GONE, HOUR, SPIN, aborts, loses, starts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import cloud_h100s, others, releases, waits
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import (
    desk_of_5090,
    eight_a100,
    four_l4,
    new_h100,
    old_h100,
    some_b200,
    some_h200,
)
from tests.corpus.words import FELL, NOTHING, REBOOT, RESET

LINKS = ("nvlink_down", "nvlink_errors", "gpu_nvlink_fatal", "nvlink_fatal", *GONE)
LOST = (
    *("gpu_init_failed", "gpu_pcie_link_degraded", "pcie_device_link_degraded", "gpu_hung"),
    *("pcie_device_inaccessible", *GONE),
)
BUS = ("pcie_aer_uncorrected", "pcie_link_down", "pcie_containment", *LOST)
SWITCHES = ("nvswitch_warning", "nvswitch_fatal")


@incident(
    "gpu_lost@*63*",
    may=(*LOST, *LINKS),
    never=("gpu_ecc_uncorrected", "gpu_overheat", "driver_version_mismatch"),
    unfit=True,
    lasts=("gpu_lost@*63*",),
    fit_at_end=False,
    node=some_h200,
)
def fourth_card_is_gone_in_the_third_hour(node: Story) -> None:
    """A card falls off the bus under full load; the driver asks to reboot the node."""
    node.wait(2 * HOUR, 180)
    node.xid("63", 79, FELL, pid="'<unknown>'", name="<unknown>")
    node.log("NVRM: GPU 0000:63:00.0: GPU has fallen off the bus.")
    node.xid("63", 154, REBOOT)
    loses(node, "63")
    waits(node, *others(node, "63"), watts=150.0)
    node.wait(600, 60)
    aborts(node, "63")
    node.wait(3 * HOUR, 240)


@incident(
    "gpu_lost@*a2*",
    root="pcie_containment@*|pcie_aer_uncorrected@*|gpu_lost@*a2*|pcie_link_down@*",
    may=BUS,
    never=("gpu_ecc_uncorrected", "nvme_controller_failed", "pcie_power_fault"),
    unfit=True,
    fit_at_end=False,
    node=four_l4,
)
def port_above_a_board_contains_an_error(node: Story) -> None:
    """A port cuts off a board after a surprise down error, and its driver cannot recover it."""
    port = "pcieport 0000:a1:00.0"
    node.wait(2400, 120)
    node.log(
        f"{port}: DPC: containment event, status:0x1f01 source:0x0000",
        f"{port}: DPC: unmasked uncorrectable error detected",
        f"{port}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
        "(Receiver ID)",
        f"{port}:   device [8086:352a] error status/mask=00000020/00100000",
        f"{port}:    [ 5] SDES                   (First)",
        "nvidia 0000:a2:00.0: AER: can't recover (no error_detected callback)",
    )
    node.put("Pcie", "devices", "port a1", errors_by_severity={"fatal": 1})
    node.xid("a2", 79, FELL, pid="4713", name="gst-launch-1.0")
    loses(node, "a2")
    node.put("Workloads", "uses", a2=None)
    node.wait(15)
    node.log(f"{port}: AER: device recovery failed")
    node.wait(4 * HOUR, 240)


@incident(
    "gpu_lost@*9b*",
    may=(*LOST, *LINKS),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_power_missing"),
    unfit=True,
    lasts=("gpu_lost@*9b*",),
    fit_at_end=False,
    node=cloud_h100s,
)
def guest_of_a_cloud_has_seven_cards_left(node: Story) -> None:
    """A card of a guest does not answer on the bus any more; the guest waits for a new host."""
    node.wait(1800, 120)
    node.xid("9b", 79, FELL, pid="'<unknown>'", name="<unknown>")
    node.log(
        "NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.",
        "NVRM: GPU 0000:9b:00.0: GPU serial number is 1650723014882.",
        "NVRM: A GPU crash dump has been created. If possible, please run\n"
        "NVRM: nvidia-bug-report.sh as root to collect this data before\n"
        "NVRM: the NVIDIA kernel module is unloaded.",
    )
    loses(node, "9b")
    waits(node, *others(node, "9b"))
    node.wait(900, 60)
    aborts(node, "9b")
    node.wait(4 * HOUR, 240)


@incident(
    "gpu_pcie_link_degraded@*01*|pcie_device_link_degraded@*01*",
    may=("gpu_pcie_link_degraded", "pcie_device_link_degraded", "gpu_unlike_itself", *SPIN),
    never=("gpu_lost", "gpu_ecc_uncorrected"),
    unfit=False,
    lasts=("gpu_pcie_link_degraded@*01*|pcie_device_link_degraded@*01*",),
    node=desk_of_5090,
)
def upright_mount_lets_a_card_run_at_the_first_speed(node: Story) -> None:
    """A card on a bad riser cable works at the first generation of PCIe, at full load too."""
    node.put("Host", uptime_secs=700.0)
    node.gpu("01", pcie_link_generation=1)
    node.put("Pcie", "devices", "01", speed_bytes_per_second=2.5e8)
    node.wait(5 * HOUR, 180)


@incident(
    "gpu_nvlink_fatal@*c4*|nvlink_fatal@*c4*|nvlink_down@*c4*",
    may=(*LINKS, *SWITCHES),
    never=("gpu_lost", "gpu_ecc_uncorrected"),
    unfit=True,
    fit_at_end=False,
    node=eight_a100,
)
def third_link_of_an_a100_fails_twice(node: Story) -> None:
    """Xid 74 ends a job on eight A100; after a reset the same link ends the next one."""
    node.wait(1800, 120)
    for number, first in enumerate((4711, 28_410)):
        node.xid(
            "c4",
            74,
            "NVLink: fatal error detected on link 3(0x0, 0x0, 0x40, 0x0, 0x0, 0x0, 0x0)",
            pid="'<unknown>'",
            name="<unknown>",
        )
        node.gpu("c4", nvlink_up={"3": 0}, nvlink_errors_total={"recovery": 1 + number})
        for rank, low in enumerate(node.bus_addresses):
            node.xid(low, 45, "Ch 0000000a", pid=str(first + rank), name="python3")
        aborts(node, watts=63.0, heat=31.0, first=first)
        if number:
            break
        node.wait(300, 60)
        releases(node, 60)
        node.gpu("c4", nvlink_up={"3": 1})
        node.wait(120, 60)
        starts(node, eight_a100, 28_410)
        node.wait(HOUR, 120)
    node.wait(3 * HOUR, 240)


@incident(
    "nvlink_down@*44*|gpu_nvlink_fatal@*44*|nvlink_fatal@*44*",
    may=LINKS,
    never=("gpu_lost", "gpu_ecc_uncorrected", "driver_version_mismatch"),
    unfit=True,
    gone=("nvlink_down",),
    fit_at_end=True,
    node=some_b200,
)
def link_of_a_b200_drops_and_peers_see_it(node: Story) -> None:
    """Xid 149 of one card and 145 of its peers end a job; all cards are reset together."""
    node.wait(2400, 120)
    node.xid(
        "44",
        149,
        "NETIR_LINK_EVT  Fatal   XC0 i0 Link 14 "
        "(0x026001c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
    )
    node.xid("44", 154, RESET)
    node.gpu("44", nvlink_up={"14": 0}, recovery_action="reset")
    for number, low in enumerate(node.bus_addresses):
        cause = 149 if low == "44" else 145
        if cause != 149:
            node.xid(
                low,
                145,
                "RLW_SRC_TRACK Nonfatal XC1 i0 Link -1 "
                "(0x00000007 0x00000004 0x00000000 0x00000000 0x00000000 0x00000000)",
                pid=str(4711 + number),
                name="pt_main_thread",
            )
        node.xid(
            low,
            45,
            f"Ch 00000003 caused by previous Xid {cause}",
            pid=str(4711 + number),
            name="pt_main_thread",
        )
    aborts(node, watts=142.0)
    node.wait(1800, 120)
    releases(node, 60)
    node.xid("44", 154, NOTHING)
    node.gpu("44", nvlink_up={"14": 1}, recovery_action="none")
    node.wait(300, 60)
    starts(node, some_b200, 41_770)
    node.wait(3 * HOUR, 180)


@incident(
    "nvswitch_warning@*|nvlink_errors@*",
    may=("nvlink_errors", "nvswitch_warning", "nvswitch_fatal", *SPIN),
    never=("gpu_lost", "nvswitch_hot", "gpu_ecc_uncorrected"),
    node=old_h100,
)
def port_of_a_switch_counts_short_errors(node: Story) -> None:
    """An NVSwitch reports the rate of errors of one link again and again for an afternoon."""
    switch = "nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 20009"
    node.wait(1200, 120)
    node.rate(40.0, "Gpus", "states", "a8", "gpu", "nvlink_errors_total", "crc_flit")
    node.rate(9.0, "Gpus", "states", "a8", "gpu", "nvlink_errors_total", "replay")
    for _ in range(16):
        node.log(
            f"{switch}, Non-fatal, Link 05 RX Short Error Rate",
            f"{switch}, Severity 0 Engine instance 05 Sub-engine instance 00",
            f"{switch}, Data {{0x00000005, 0x00000005, 0x00000000, 0x00000005, 0x80000005}}",
        )
        node.wait(900, 180)


@incident(
    "nvlink_down@*e1*|nvswitch_fatal@*|gpu_nvlink_fatal@*e1*|nvlink_fatal@*",
    may=(*LINKS, *SWITCHES, "fabric_not_ready"),
    never=("gpu_lost", "gpu_ecc_uncorrected", "nvswitch_hot"),
    unfit=True,
    fit_at_end=False,
    node=some_h200,
)
def link_between_a_switch_and_a_card_breaks(node: Story) -> None:
    """A switch and a card report the same broken link; the node is drained and not repaired."""
    switch = "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034"
    node.wait(1800, 120)
    node.log(
        f"{switch}, Fatal, Link 49 LTSSM Fault Up",
        f"{switch}, Severity 1 Engine instance 49 Sub-engine instance 00",
        f"{switch}, Data {{0x00000031, 0x00000031, 0x00000000, 0x00000031, 0x80000000}}",
    )
    node.xid(
        "e1",
        74,
        "NVLink: fatal error detected on link 15(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
        pid="'<unknown>'",
        name="<unknown>",
    )
    node.gpu("e1", nvlink_up={"15": 0})
    for number, low in enumerate(node.bus_addresses):
        node.xid(low, 45, "Ch 0000000c", pid=str(4711 + number), name="VLLM::Worker_TP")
    aborts(node)
    node.wait(5 * HOUR, 240)


@incident(
    "fabric_not_ready@*",
    may=("nvlink_down", "nvlink_training_failed", "nvlink_discovery_failed", *SPIN),
    never=("gpu_lost", "gpu_init_failed", "driver_version_mismatch"),
    unfit=True,
    gone=("fabric_not_ready",),
    fit_at_end=True,
    node=new_h100,
)
def fabric_manager_was_masked_by_a_playbook(node: Story) -> None:
    """All cards are unregistered after a load because a service is masked; it is found at ten."""
    node.wait(600, 60)
    aborts(node)
    node.wait(300, 60)
    releases(node, 60)
    node.gpus(fabric_state="in_progress", fabric_healthy=None)
    node.wait(5400, 120)
    releases(node, 30)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(240, 60)
    starts(node, new_h100, 15_090)
    node.wait(2 * HOUR, 180)


@incident(
    "pcie_aer_corrected_rate@*0f*|gpu_pcie_replay_rate@*0f*",
    may=("pcie_aer_corrected_rate", "gpu_pcie_replay_rate", "gpu_pcie_link_degraded", *SPIN),
    never=("gpu_lost", "pcie_aer_uncorrected"),
    unfit=False,
    node=eight_a100,
)
def retimer_of_a_tray_is_marginal(node: Story) -> None:
    """The link of one card has a hundred corrected errors and replays a second for hours."""
    node.wait(900, 60)
    node.rate(120.0, "Gpus", "states", "0f", "gpu", "pcie_replays_total")
    node.rate(110.0, "Pcie", "devices", "0f", "errors_by_severity", "correctable")
    for _ in range(30):
        node.log(
            "pcieport 0000:0e:00.0: AER: Multiple Corrected error message received from "
            "0000:0f:00.0",
            "nvidia 0000:0f:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
            "(Receiver ID)",
            "nvidia 0000:0f:00.0:   device [10de:20b2] error status/mask=00000041/0000a000",
            "nvidia 0000:0f:00.0:    [ 0] RxErr                  (First)",
            "nvidia 0000:0f:00.0:    [ 6] BadTLP                ",
        )
        node.wait(480, 160)


CASES = (
    fourth_card_is_gone_in_the_third_hour,
    port_above_a_board_contains_an_error,
    guest_of_a_cloud_has_seven_cards_left,
    upright_mount_lets_a_card_run_at_the_first_speed,
    third_link_of_an_a100_fails_twice,
    link_of_a_b200_drops_and_peers_see_it,
    port_of_a_switch_counts_short_errors,
    link_between_a_switch_and_a_card_breaks,
    fabric_manager_was_masked_by_a_playbook,
    retimer_of_a_tray_is_marginal,
)
