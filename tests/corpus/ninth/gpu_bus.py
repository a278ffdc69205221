"""Incidents of PCIe and NVLink: cards that leave the bus, lanes that are lost, links that fail."""

from tests.corpus.eighth.nodes import b200_box, rank_ends
from tests.corpus.fifth.nodes import a100s, loads, unloads
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import (
    HOUR,
    a40s,
    b300s,
    cloud_h100s,
    delta_a100s,
    others,
    roce_box,
    waits,
    with_past,
)
from tests.corpus.seventh.nodes import LINKS, NOBODY, SPINS, hgx, rests
from tests.corpus.sixth.nodes import rack_server
from tests.corpus.story import Story
from tests.corpus.words import FELL, GPU_AFTER

AWAY = (*GPU_AFTER, *LINKS, *SPINS, "gpu_xid_critical")
AER = ("pcie_aer_uncorrected", "pcie_aer_corrected_rate", "pcie_device_inaccessible")
SLOW = ("gpu_pcie_link_degraded", "pcie_device_link_degraded")
FATAL = "gpu_nvlink_fatal@{0}|nvlink_fatal@*|nvlink_down@{0}"


def _fatal(port: str, device: str, bits: str) -> str:
    """What the kernel prints when a device below this port reports a fatal error."""
    return (
        f"pcieport {port}: AER: Uncorrectable (Fatal) error message received from {device}\n"
        f"nvidia {device}: PCIe Bus Error: severity=Uncorrectable (Fatal), "
        "type=Transaction Layer, (Receiver ID)\n"
        f"nvidia {device}:   device [10de:2330] error status/mask=00040000/04400000\n"
        f"nvidia {device}:    {bits}"
    )


@incident(
    "gpu_lost@GPU-66",
    root=("gpu_lost@GPU-66|pcie_aer_uncorrected@*|pcie_link_down@*",),
    may=(*AWAY, *AER, "pcie_link_down", "pcie_containment"),
    unfit=True,
    lasts=("gpu_lost@GPU-66",),
    fit_at_end=False,
    node=roce_box,
)
def card_reports_a_fatal_error_and_is_lost(node: Story) -> None:
    """A fatal error of the transaction layer, then Xid 79; seven ranks wait until their timeout."""
    node.wait(90)
    node.log(_fatal("0000:65:00.0", "0000:66:00.0", "[18] MalfTLP                (First)"))
    node.put("Pcie", "devices", "66", errors_by_severity={"fatal": 1})
    node.xid("66", 79, FELL, pid="4714", name="python3")
    node.log(
        "NVRM: GPU 0000:66:00.0: GPU has fallen off the bus.",
        "NVRM: GPU 0000:66:00.0: GPU serial number is 1652923012345.",
        "NVRM: A GPU crash dump has been created. If possible, please run\n"
        "NVRM: nvidia-bug-report.sh as root to collect this data before\n"
        "NVRM: the NVIDIA kernel module is unloaded.",
    )
    node.lose("66")
    waits(node, *others(node, "66"))
    node.wait(600, 30)
    rests(node, 71.0)
    node.wait(2 * HOUR, 240)


@incident(
    "gpu_lost@GPU-ae",
    may=AWAY,
    unfit=True,
    lasts=("gpu_lost@GPU-ae",),
    fit_at_end=False,
    node=cloud_h100s,
)
def guest_loses_a_card_without_any_word_of_the_bus(node: Story) -> None:
    """Xid 79 in a guest: the host's bus cannot be seen, and the provider is asked for another."""
    node.wait(300, 60)
    node.xid("ae", 79, FELL, **NOBODY)
    node.lose("ae")
    waits(node, *others(node, "ae"))
    node.wait(600, 60)
    rank_ends(node, "ae", "4716")
    node.wait(2 * HOUR, 240)


@incident(
    "gpu_pcie_link_degraded@GPU-ae",
    root=("gpu_pcie_link_degraded@GPU-ae|pcie_aer_corrected_rate@*|pcie_device_link_degraded@*",),
    may=(*SLOW, "pcie_aer_corrected_rate", "gpu_pcie_replay_rate"),
    unfit=False,
    fit_at_end=True,
    node=hgx,
)
def half_of_the_lanes_of_a_card_are_lost(node: Story) -> None:
    """Corrected errors for ten minutes, then the link trains at eight lanes and stays there."""
    node.wait(120)
    node.rate(0.8, "Pcie", "devices", "ae", "errors_by_severity", "correctable")
    node.rate(0.8, "Gpus", "states", "ae", "gpu", "pcie_replays_total")
    for _ in range(5):
        node.log(
            "pcieport 0000:ad:00.0: AER: Multiple Corrected error message received from "
            "0000:ae:00.0\n"
            "nvidia 0000:ae:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
            "(Receiver ID)\n"
            "nvidia 0000:ae:00.0:   device [10de:2330] error status/mask=00000001/0000e000\n"
            "nvidia 0000:ae:00.0:    [ 0] RxErr                  (First)"
        )
        node.wait(120, 30)
    node.rate(0.0, "Pcie", "devices", "ae", "errors_by_severity", "correctable")
    node.rate(0.0, "Gpus", "states", "ae", "gpu", "pcie_replays_total")
    node.gpu("ae", pcie_link_width=8, utilization_percent=90.0)
    node.put("Pcie", "devices", "ae", width=8)
    node.put("Pcie", "devices", "port ad", width=8)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_pcie_link_degraded@GPU-4c",
    root=("gpu_pcie_link_degraded@GPU-4c|pcie_device_link_degraded@*",),
    may=SLOW,
    unfit=False,
    gone=("gpu_pcie_link_degraded", "pcie_device_link_degraded"),
    fit_at_end=True,
    node=a100s,
)
def card_trains_at_the_first_generation_until_a_reload(node: Story) -> None:
    """After a load of the driver one card at work has 2.5 GT/s; the next load repairs it."""
    node.wait(60)
    unloads(node, 30)
    slow = {"utilization_percent": 71.0, "power_draw_watts": 240.0}
    node.put("Pcie", "devices", "4c", speed_bytes_per_second=2.5e8)
    node.put("Pcie", "devices", "port 46", speed_bytes_per_second=2.5e8)
    loads(node, with_past(a100s, "4c", pcie_link_generation=1, **slow))
    node.wait(3 * HOUR, 120)
    unloads(node, 30)
    node.put("Pcie", "devices", "4c", speed_bytes_per_second=3.94e9)
    node.put("Pcie", "devices", "port 46", speed_bytes_per_second=3.94e9)
    loads(node, a100s)
    node.wait(HOUR, 120)


@incident(
    *("nvlink_down@GPU-46", "nvlink_down@GPU-85"),
    root=("gpu_nvlink_fatal@*|nvlink_fatal@*|nvlink_down@*",),
    may=("nvlink_fatal", "gpu_nvlink_fatal", "nvlink_errors", "gpu_recovery_required", *SPINS),
    unfit=True,
    lasts=("nvlink_down@GPU-46",),
    fit_at_end=False,
    node=delta_a100s,
)
def link_between_two_a100s_is_lost(node: Story) -> None:
    """Xid 74 of both ends of one link; jobs go on by PCIe, and nobody mends it for hours."""
    node.wait(60)
    for bus, link in (("46", 5), ("85", 9)):
        node.xid(
            bus,
            74,
            f"NVLink: fatal error detected on link {link}(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
            **NOBODY,
        )
        node.gpu(bus, nvlink_up={str(link): 0}, utilization_percent=64.0, power_draw_watts=250.0)
    node.wait(3 * HOUR, 240)


@incident(
    "nvlink_errors@GPU-9b",
    may=("gpu_unlike_siblings", "gpu_app_fault"),
    never=("nvlink_down",),
    node=hgx,
)
def flits_of_one_card_are_damaged(node: Story) -> None:
    """CRC errors of flits rise by hundreds a second, with recoveries, for two hours of a job."""
    node.wait(120, 30)
    place = ("Gpus", "states", "9b", "gpu", "nvlink_errors_total")
    node.rate(420.0, *place, "crc_flit")
    node.rate(35.0, *place, "replay")
    node.rate(0.02, *place, "recovery")
    node.wait(2 * HOUR, 60)


@incident(
    "nvswitch_fatal@0000:86:00.0",
    root=("nvswitch_fatal@0000:86:00.0",),
    may=(*LINKS, *SPINS, "gpu_app_fault", "gpu_recovery_required"),
    unfit=True,
    fit_at_end=False,
    node=hgx,
)
def switch_loses_a_link_to_two_cards(node: Story) -> None:
    """SXid 20034 of one NVSwitch, Xid 74 of two cards, Xid 45 of all ranks; the job ends."""
    node.wait(60)
    node.log(
        "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 20034, Severity 1 Engine instance 30 "
        "Sub-engine instance 00",
        "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 20034, Data {0x50610002, 0x00000000, "
        "0x00000000, 0x10100030, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000}",
    )
    for bus, link in (("19", 12), ("66", 3)):
        text = f"NVLink: fatal error detected on link {link}(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
        node.xid(bus, 74, text, **NOBODY)
        node.gpu(bus, nvlink_up={str(link): 0})
    for rank, bus in enumerate(node.bus_addresses):
        node.xid(bus, 45, "Ch 0000000a", pid=str(4711 + rank), name="python3")
    rests(node, 72.0)
    node.wait(2 * HOUR, 240)


@incident(
    "gpu_nvlink_fatal@GPU-ae|nvlink_fatal@*",
    root=(FATAL.format("GPU-ae"),),
    may=(*LINKS, *SPINS, "gpu_recovery_required", "gpu_app_fault", "gpu_unknown_xid"),
    unfit=True,
    fit_at_end=False,
    node=b200_box,
)
def link_firmware_of_a_b200_gives_a_link_up(node: Story) -> None:
    """Xid 149 (fatal) of one link of the fifth generation, Xid 45 caused by it, 154 (reset)."""
    node.wait(120)
    node.xid(
        "ae",
        149,
        "NETIR_LINK_EVT Fatal XC0 i0 Link 07 "
        "(0x025001c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
    )
    node.xid("ae", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    node.gpu("ae", nvlink_up={"7": 0}, recovery_action="reset")
    for rank, bus in enumerate(node.bus_addresses):
        text = "Ch 00000004 caused by previous Xid 149"
        node.xid(bus, 45, text, pid=str(4711 + rank), name="python3")
    node.wait(30)
    rests(node, 145.0)
    node.wait(2 * HOUR, 240)


@incident(
    *("pcie_link_down@*", "gpu_lost@GPU-bf"),
    root=("pcie_link_down@*",),
    may=(*AWAY, *AER, "pcie_containment"),
    unfit=True,
    lasts=("gpu_lost@GPU-bf",),
    fit_at_end=False,
    node=b300s,
)
def slot_of_a_card_goes_dark(node: Story) -> None:
    """The hot-plug port sees its link down and the card gone; the bus counts seven cards."""
    node.wait(60)
    node.log(
        "pcieport 0000:be:00.0: pciehp: Slot(190): Link Down",
        "pcieport 0000:be:00.0: pciehp: Slot(190): Card not present",
    )
    node.xid("bf", 79, FELL, **NOBODY)
    node.lose("bf")
    node.put("Pcie", "devices", "port be", width=0, speed_bytes_per_second=None)
    waits(node, *others(node, "bf"), watts=250.0)
    node.wait(300, 30)
    node.put("Pcie", "devices", bf=None)
    rests(node, 150.0)
    node.wait(2 * HOUR, 240)


@incident(
    "gpu_power_missing@GPU-31",
    root=("gpu_power_missing@GPU-31",),
    may=(*GPU_AFTER, *SPINS, "gpu_lost", "gpu_power_brake", "gpu_clock_low"),
    unfit=True,
    fit_at_end=False,
    node=a40s,
)
def plug_of_a_card_is_loose(node: Story) -> None:
    """Xid 54: the auxiliary power of a board is gone, and it no longer works."""
    node.wait(120)
    node.xid("31", 54, "Auxiliary power is not connected to the GPU board", **NOBODY)
    node.state("31", up=False, reason="insufficient_power", stale=True)
    node.put("Workloads", "clients", **{"4711": None})
    node.wait(2 * HOUR, 240)


@incident(
    "pcie_containment@0000:5d:02.0",
    root=("pcie_containment@0000:5d:02.0|pcie_aer_uncorrected@*",),
    may=(*AER, "pcie_link_down", "nvme_timeout", "disk_slow", "io_stall", "disk_io_errors"),
    never=("nvme_controller_failed", "pcie_nvme_missing"),
    node=rack_server,
)
def port_of_a_disk_contains_an_error_and_recovers(node: Story) -> None:
    """Downstream port containment resets an NVMe disk, which is back within three seconds."""
    node.wait(120)
    node.log(
        "pcieport 0000:5d:02.0: DPC: containment event, status:0x1f01 source:0x0000",
        "pcieport 0000:5d:02.0: DPC: unmasked uncorrectable error detected",
        "pcieport 0000:5d:02.0: PCIe Bus Error: severity=Uncorrectable (Fatal), "
        "type=Transaction Layer, (Receiver ID)\n"
        "pcieport 0000:5d:02.0:   device [8086:352a] error status/mask=00000020/00100000\n"
        "pcieport 0000:5d:02.0:    [ 5] SDES                   (First)",
        "nvme nvme2: frozen state error detected, reset controller",
        "nvme nvme2: restart after slot reset",
        "nvme nvme2: 63/0/0 default/read/poll queues",
        "pcieport 0000:5d:02.0: AER: device recovery successful",
    )
    node.wait(3 * HOUR, 120)


CASES = (
    card_reports_a_fatal_error_and_is_lost,
    guest_loses_a_card_without_any_word_of_the_bus,
    half_of_the_lanes_of_a_card_are_lost,
    card_trains_at_the_first_generation_until_a_reload,
    link_between_two_a100s_is_lost,
    flits_of_one_card_are_damaged,
    switch_loses_a_link_to_two_cards,
    link_firmware_of_a_b200_gives_a_link_up,
    slot_of_a_card_goes_dark,
    plug_of_a_card_is_loose,
    port_of_a_disk_contains_an_error_and_recovers,
)
