"""Incidents of the PCIe bus and of cards that leave it."""

from tests.corpus.fifth.nodes import a100s, l40s, loads, unloads
from tests.corpus.labels import incident
from tests.corpus.seventh.nodes import (
    LINKS,
    NOBODY,
    SPINS,
    a10s,
    epyc,
    hgx,
    pro_6000s,
    rtx_3090s,
    rtx_5090s,
)
from tests.corpus.story import Story
from tests.corpus.words import FELL, GPU_AFTER, STARVED

HOURS = 2 * 3600
BOOT = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"


@incident(
    *("pcie_aer_corrected_rate@*", "gpu_lost@GPU-43"),
    root=("pcie_aer_corrected_rate@*|gpu_lost@GPU-43",),
    may=(*GPU_AFTER, "gpu_pcie_replay_rate", "pcie_aer_corrected_rate"),
    unfit=True,
    lasts=("gpu_lost@GPU-43",),
    fit_at_end=False,
    node=rtx_3090s,
)
def riser_cable_damages_packets_until_the_card_is_lost(node: Story) -> None:
    """Hundreds of corrected errors a minute of a card on a riser, a quarter of an hour; Xid 79."""
    node.wait(60)
    node.rate(6.0, "Pcie", "devices", "43", "errors_by_severity", "correctable")
    node.rate(6.0, "Gpus", "states", "43", "gpu", "pcie_replays_total")
    for _ in range(10):
        node.log(
            "pcieport 0000:42:00.0: AER: Multiple Correctable error message received from "
            "0000:43:00.0\n"
            "nvidia 0000:43:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, "
            "(Receiver ID)\n"
            "nvidia 0000:43:00.0:   device [10de:2204] error status/mask=00000040/0000a000\n"
            "nvidia 0000:43:00.0:    [ 6] BadTLP                "
        )
        node.wait(90, 30)
    node.rate(0.0, "Pcie", "devices", "43", "errors_by_severity", "correctable")
    node.rate(0.0, "Gpus", "states", "43", "gpu", "pcie_replays_total")
    node.xid("43", 79, FELL, pid="4712", name="python")
    node.log("NVRM: GPU 0000:43:00.0: GPU has fallen off the bus.")
    node.lose("43")
    node.wait(HOURS, 240)


@incident(
    "gpu_lost@GPU-8c",
    may=GPU_AFTER,
    unfit=True,
    lasts=("gpu_lost@GPU-8c",),
    fit_at_end=False,
    node=rtx_5090s,
)
def card_dies_at_the_peak_of_a_render(node: Story) -> None:
    """Xid 79 of a GeForce without a word before it, then 154, and an empty crash dump."""
    node.wait(600, 60)
    node.xid("8c", 79, FELL, pid="4712", name="blender")
    node.log(
        "NVRM: GPU 0000:8c:00.0: GPU has fallen off the bus.",
        "NVRM: kgspRcAndNotifyAllChannels_IMPL: RC all channels for critical error 79.",
        "NVRM: _threadNodeCheckTimeout: API_GPU_ATTACHED_SANITY_CHECK failed!",
    )
    node.xid("8c", 154, BOOT, pid="4712", name="blender")
    node.lose("8c")
    node.put("Workloads", "clients", **{"4712": None})
    node.wait(HOURS, 240)


@incident(
    *("pcie_link_down@0000:b1:01.0", "gpu_lost@GPU-c8", "gpu_lost@GPU-cb"),
    may=(*GPU_AFTER, *LINKS, "ib_port_down", "pcie_network_card_missing", "pcie_containment"),
    unfit=True,
    lasts=("gpu_lost@GPU-c8", "gpu_lost@GPU-cb"),
    fit_at_end=False,
    node=a100s,
)
def one_slot_takes_two_cards_and_an_adapter(node: Story) -> None:
    """The link of a riser goes down: two cards and an InfiniBand adapter are below it."""
    node.wait(120)
    node.log("pcieport 0000:b1:01.0: pciehp: Slot(9): Link Down")
    node.wait(1, 1)
    for bus in ("c8", "cb"):
        node.xid(bus, 79, FELL, **NOBODY)
        node.lose(bus)
    node.put("Infiniband", "ports", "mlx5_1", state="down", phys_state="disabled")
    node.wait(HOURS, 240)


@incident(
    "gpu_pcie_link_degraded@GPU-c2",
    may=("pcie_device_link_degraded",),
    unfit=False,
    fit_at_end=True,
    node=a10s,
)
def card_sits_badly_after_a_service(node: Story) -> None:
    """Since its memory was serviced one card has eight of sixteen lanes."""
    node.put("Host", uptime_secs=90.0)
    node.gpu("c2", pcie_link_width=8)
    node.put("Pcie", "devices", "c2", width=8)
    node.log(
        "pci 0000:c2:00.0: 126.024 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 "
        "link at 0000:c1:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)"
    )
    node.wait(3600, 60)


@incident(
    "pcie_aer_uncorrected@0000:a5:00.0",
    may=("gpu_pcie_timeout",),
    never=("gpu_lost",),
    unfit=False,
    fit_at_end=True,
    node=pro_6000s,
)
def card_recovers_from_an_uncorrected_error(node: Story) -> None:
    """A non-fatal error of a card, which its driver recovers from; its job goes on."""
    node.wait(60)
    node.log(
        "pcieport 0000:a4:00.0: AER: Uncorrectable (Non-Fatal) error message received from "
        "0000:a5:00.0\n"
        "nvidia 0000:a5:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction "
        "Layer, (Receiver ID)\n"
        "nvidia 0000:a5:00.0:   device [10de:2bb5] error status/mask=00001000/00400000\n"
        "nvidia 0000:a5:00.0:    [12] TLP                    (First)"
    )
    node.put("Pcie", "devices", "a5", errors_by_severity={"nonfatal": 1})
    node.wait(2, 2)
    node.log("pcieport 0000:a4:00.0: AER: device recovery successful")
    node.wait(3600, 60)


@incident(
    *("pcie_aer_corrected_rate@*", "gpu_pcie_timeout@GPU-21"),
    root=("pcie_aer_corrected_rate@*",),
    may=("gpu_pcie_replay_rate", "gpu_app_fault", "pcie_aer_corrected_rate"),
    node=l40s,
)
def commands_arrive_broken_at_a_card(node: Story) -> None:
    """A storm of corrected errors of one card, and Xid 32 and 80 of what it was sent."""
    node.wait(60)
    node.rate(9.0, "Pcie", "devices", "21", "errors_by_severity", "correctable")
    node.rate(9.0, "Gpus", "states", "21", "gpu", "pcie_replays_total")
    for number in range(6):
        node.log(
            "pcieport 0000:20:00.0: AER: Multiple Corrected error message received from "
            "0000:21:00.0\n"
            "nvidia 0000:21:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, "
            "(Transmitter ID)\n"
            "nvidia 0000:21:00.0:   device [10de:26b9] error status/mask=00001100/0000a000\n"
            "nvidia 0000:21:00.0:    [ 8] Rollover              \n"
            "nvidia 0000:21:00.0:    [12] Timeout               "
        )
        node.wait(60, 15)
        if number > 2:
            text = f"Channel ID 0000000{number} intr0 00040000"
            node.xid("21", 32, text, pid="4711", name="python3")
            node.xid("21", 80, "PBDMA pushbuffer CRC mismatch", pid="4711", name="python3")
    node.wait(900, 30)


@incident(
    *("pcie_aer_uncorrected@*", "pcie_containment@0000:2c:00.0", "gpu_lost@GPU-2d"),
    may=(*GPU_AFTER, *LINKS, *SPINS, "pcie_link_down"),
    unfit=True,
    gone=("gpu_lost", "pcie_containment"),
    fit_at_end=True,
    node=hgx,
)
def contained_port_is_repaired_within_two_hours(node: Story) -> None:
    """A fatal error of a port, its containment, a lost card; port and driver are reset."""
    port = "pcieport 0000:2c:00.0"
    node.wait(60)
    node.log(
        f"{port}: DPC: containment event, status:0x1f11 source:0x2d00: unmasked uncorrectable "
        "error detected"
    )
    node.log(
        f"{port}: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, "
        "(Receiver ID)\n"
        f"{port}:   device [8086:352a] error status/mask=00040000/00180020\n"
        f"{port}:    [18] MalfTLP                (First)"
    )
    node.put("Pcie", "devices", "port 2c", errors_by_severity={"fatal": 1})
    node.wait(1, 1)
    node.xid("2d", 79, FELL, **NOBODY)
    node.lose("2d")
    node.log(f"{port}: AER: device recovery failed")
    node.wait(5400, 120)
    unloads(node, 300)
    loads(node, hgx)
    node.wait(1800, 60)


@incident(
    "pcie_device_link_degraded@0000:5f:00.0",
    unfit=False,
    fit_at_end=True,
    node=epyc,
)
def disk_runs_on_one_lane(node: Story) -> None:
    """An NVMe disk has come up with one of four lanes at the boot."""
    node.put("Host", uptime_secs=50.0)
    node.put("Pcie", "devices", "5f", width=1)
    node.wait(1800, 60)


@incident(
    *("pcie_link_down@0000:60:03.0", "pcie_nvme_missing@node"),
    may=(*STARVED, "nvme_controller_failed", "disk_io_errors", "filesystem_shutdown"),
    unfit=True,
    fit_at_end=False,
    node=epyc,
)
def disk_drops_out_of_its_bay(node: Story) -> None:
    """The link of a bay goes down under a mounted disk, and the disk is gone from the bus."""
    where = "pcieport 0000:60:03.0: pciehp: Slot(12)"
    node.put("Pcie", "devices", "5f", parent="0000:60:03.0", slot="12")
    port = {"device": "0000:60:03.0", "kind": "port", "parent": None}
    node.put("Pcie", "devices", **{"port 60": port})
    node.wait(300, 60)
    node.log(f"{where}: Link Down", f"{where}: Card not present")
    node.wait(2, 2)
    node.log(
        "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
        "XFS (nvme1n1): log I/O error -5",
        "XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).",
    )
    node.put("Pcie", "devices", **{"5f": None})
    node.put("NvmeControllers", "controllers", nvme1=None)
    node.put("NvmeHealths", "controllers", nvme1=None)
    node.put("Disks", "disks", nvme1n1=None)
    node.wait(1800, 60)


CASES = (
    riser_cable_damages_packets_until_the_card_is_lost,
    card_dies_at_the_peak_of_a_render,
    one_slot_takes_two_cards_and_an_adapter,
    card_sits_badly_after_a_service,
    card_recovers_from_an_uncorrected_error,
    commands_arrive_broken_at_a_card,
    contained_port_is_repaired_within_two_hours,
    disk_runs_on_one_lane,
    disk_drops_out_of_its_bay,
)
