"""Incidents of the PCIe bus: cards that leave it, narrow links, storms of corrected errors."""

from tests.corpus.eighth.nodes import (
    HOURS,
    b200_box,
    cloud_a100s,
    cloud_t4,
    rank_ends,
    rtx_4090s,
)
from tests.corpus.fifth.nodes import a100s, l40s, loads, unloads
from tests.corpus.labels import incident
from tests.corpus.parts import Tree
from tests.corpus.seventh.nodes import LINKS, NOBODY, SPINS, a10s, hgx, rests
from tests.corpus.sixth.nodes import h200s
from tests.corpus.story import Story
from tests.corpus.words import FELL, GPU_AFTER

REBOOT = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"


def seven_a100s() -> Tree:
    """Eight A100 of which the driver could start seven."""
    node = a100s()
    for place, key in (("Gpus", "states"), ("Workloads", "uses")):
        del node[place][key]["8b"]
    del node["Workloads"]["clients"]["4716"]
    return node


@incident(
    "gpu_lost@GPU-66",
    may=(*GPU_AFTER, *LINKS, *SPINS),
    unfit=True,
    gone=("gpu_lost",),
    fit_at_end=True,
    node=hgx,
)
def h100_leaves_the_bus_amid_a_training(node: Story) -> None:
    """Xid 79 of one of eight, its peers spin for ten minutes, the node is booted and is well."""
    node.wait(300, 60)
    node.xid("66", 79, FELL, **NOBODY)
    node.log(
        "NVRM: GPU 0000:66:00.0: GPU has fallen off the bus.",
        "NVRM: GPU 0000:66:00.0: GPU serial number is 1654022019327.",
        "NVRM: A GPU crash dump has been created. If possible, please run\n"
        "NVRM: nvidia-bug-report.sh as root to collect this data before\n"
        "NVRM: the NVIDIA kernel module is unloaded.",
    )
    node.lose("66")
    for bus in node.bus_addresses:
        if bus != "66":
            node.gpu(bus, utilization_percent=100.0, memory_controller_utilization_percent=0.0)
            node.gpu(bus, power_draw_watts=128.0, power_average_watts=128.0)
    node.wait(600, 30)
    rests(node)
    node.wait(1500, 60)
    unloads(node, 240)
    node.put("Host", uptime_secs=70.0)
    loads(node, hgx)
    node.wait(1800, 60)


@incident(
    "gpu_lost@GPU-8b",
    "gpu_init_failed@GPU-8b|gpu_init_failed@*8b:00*|gpu_count_low@node",
    root=("gpu_lost@GPU-8b", "gpu_lost@GPU-8b|gpu_init_failed@*|gpu_count_low@node"),
    may=(*GPU_AFTER, *LINKS, *SPINS, "gpu_probe_failed", "gpu_init_failed"),
    unfit=True,
    fit_at_end=False,
    node=a100s,
)
def lost_a100_does_not_start_again(node: Story) -> None:
    """Xid 79; after a load of the driver seven of eight answer and one cannot be started."""
    node.wait(120)
    node.xid("8b", 79, FELL, pid="4716", name="python3")
    node.lose("8b")
    node.wait(1200, 60)
    unloads(node, 60)
    failed = (
        "NVRM: GPU 0000:8b:00.0: RmInitAdapter failed! (0x24:0x65:1417)",
        "NVRM: GPU 0000:8b:00.0: rm_init_adapter failed, device minor number 5",
    )
    loads(node, seven_a100s, "", *failed)
    node.log(*failed)
    node.wait(HOURS, 240)


@incident(
    "gpu_lost@GPU-1e",
    may=(*GPU_AFTER, "gpu_init_failed"),
    unfit=True,
    lasts=("gpu_lost@GPU-1e",),
    fit_at_end=False,
    node=cloud_t4,
)
def only_card_of_a_guest_is_gone(node: Story) -> None:
    """The three lines of a lost card, without an Xid; the guest is left as it is."""
    node.wait(300, 60)
    node.log(
        "NVRM: The NVIDIA GPU 0000:1e:00.0\n"
        "NVRM: (PCI ID: 10de:1eb8) installed in this system has\n"
        "NVRM: fallen off the bus and is not responding to commands."
    )
    node.lose("1e")
    node.wait(HOURS, 240)


@incident(
    *("pcie_aer_uncorrected@0000:c2:00.0|pcie_aer_uncorrected@0000:c1:00.0", "gpu_lost@GPU-c2"),
    root=("pcie_aer_uncorrected@*",),
    may=(*GPU_AFTER, "pcie_aer_uncorrected", "pcie_containment", "pcie_link_down"),
    unfit=True,
    lasts=("gpu_lost@GPU-c2",),
    fit_at_end=False,
    node=a10s,
)
def fatal_error_of_a_slot_takes_an_a10(node: Story) -> None:
    """An uncorrectable error of a card, recovery fails, Xid 79 three seconds later."""
    node.wait(60)
    node.log(
        "pcieport 0000:c1:00.0: AER: Uncorrectable (Fatal) error message received from "
        "0000:c2:00.0\n"
        "nvidia 0000:c2:00.0: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), "
        "type=Inaccessible, (Unregistered Agent ID)",
        "nvidia 0000:c2:00.0: AER: can't recover (no error_detected callback)",
        "pcieport 0000:c1:00.0: AER: device recovery failed",
    )
    node.put("Pcie", "devices", "c2", errors_by_severity={"fatal": 1})
    node.wait(3, 3)
    node.xid("c2", 79, FELL, **NOBODY)
    node.lose("c2")
    node.wait(HOURS, 240)


@incident(
    "gpu_pcie_link_degraded@GPU-e1",
    may=("pcie_device_link_degraded", "gpu_pcie_replay_rate", "gpu_clock_low"),
    unfit=False,
    lasts=("gpu_pcie_link_degraded",),
    fit_at_end=True,
    node=l40s,
)
def link_of_a_busy_l40s_falls_to_four_lanes(node: Story) -> None:
    """In the midst of its work a card goes on with four of sixteen lanes."""
    node.wait(600, 60)
    node.gpu("e1", pcie_link_width=4, pcie_replays_total=61)
    node.put("Pcie", "devices", "e1", width=4)
    node.wait(HOURS, 120)


@incident(
    "gpu_pcie_link_degraded@GPU-3f",
    may=("pcie_device_link_degraded",),
    unfit=False,
    lasts=("gpu_pcie_link_degraded",),
    fit_at_end=True,
    node=b200_box,
)
def one_of_eight_trains_at_the_first_generation(node: Story) -> None:
    """After a boot one busy card stays at 2.5 GT/s, its seven sisters run at 32."""
    node.put("Host", uptime_secs=200.0)
    node.gpu("3f", pcie_link_generation=1)
    slow = {"speed_bytes_per_second": 2.5e8}
    node.put("Pcie", "devices", "3f", **slow)
    node.wait(HOURS, 120)


@incident(
    "pcie_aer_corrected_rate@*",
    may=("gpu_pcie_replay_rate", "pcie_aer_corrected_rate"),
    never=("gpu_lost",),
    unfit=False,
    fit_at_end=True,
    node=h200s,
)
def retimer_of_a_switch_board_is_marginal(node: Story) -> None:
    """Four corrected errors a second of one card for an hour; the kernel prints some of them."""
    node.wait(60)
    node.rate(4.0, "Pcie", "devices", "83", "errors_by_severity", "correctable")
    node.rate(3.0, "Gpus", "states", "83", "gpu", "pcie_replays_total")
    for _ in range(12):
        for _ in range(5):
            node.log(
                "pcieport 0000:82:00.0: AER: Correctable error message received from "
                "0000:83:00.0\n"
                "nvidia 0000:83:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, "
                "(Receiver ID)\n"
                "nvidia 0000:83:00.0:   device [10de:2335] error status/mask=00000001/0000e000\n"
                "nvidia 0000:83:00.0:    [ 0] RxErr                  (First)"
            )
        node.log("aer_ratelimit: 84 callbacks suppressed")
        node.wait(300, 30)


@incident(
    *("pcie_link_down@0000:dc:01.0", "pcie_network_card_missing@node"),
    root=("pcie_link_down@0000:dc:01.0",),
    may=("ib_port_down", "nic_driver_fatal", *SPINS),
    unfit=True,
    fit_at_end=False,
    node=h200s,
)
def fabric_adapter_drops_off_its_slot(node: Story) -> None:
    """The slot of one of four InfiniBand adapters loses its link; port and device are gone."""
    node.wait(120)
    node.log(
        "pcieport 0000:dc:01.0: pciehp: Slot(14): Link Down",
        "pcieport 0000:dc:01.0: pciehp: Slot(14): Card not present",
        "mlx5_core 0000:dd:00.0: poll_health:825:(pid 0): Fatal error 1 detected",
        "mlx5_core 0000:dd:00.0: mlx5_error_sw_reset:224:(pid 1932): start",
    )
    node.put("Infiniband", "ports", mlx5_3=None)
    node.put("Pcie", "devices", dd=None)
    node.wait(HOURS, 120)


@incident(
    "gpu_lost@GPU-41",
    may=GPU_AFTER,
    unfit=True,
    lasts=("gpu_lost@GPU-41",),
    fit_at_end=False,
    node=rtx_4090s,
)
def rented_card_falls_twice_in_a_day(node: Story) -> None:
    """Xid 79 of a GeForce at full power; a boot brings it back, and eight hours later again."""
    for turn in (1, 2):
        node.wait(300, 60)
        node.xid("41", 79, FELL, pid=str(4712 + turn), name="python3")
        node.log("NVRM: GPU 0000:41:00.0: GPU has fallen off the bus.")
        node.lose("41")
        node.wait(1800, 120)
        if turn == 1:
            unloads(node, 180)
            node.put("Host", uptime_secs=40.0)
            loads(node, rtx_4090s)
            node.wait(8 * 3600, 900)


@incident(
    "gpu_count_low@node|gpu_lost@GPU-ae",
    may=(*GPU_AFTER, *LINKS, "gpu_init_failed", "gpu_lost"),
    unfit=True,
    fit_at_end=False,
    node=cloud_a100s,
)
def guest_is_given_seven_of_eight_cards(node: Story) -> None:
    """A card is no longer listed from one look to the next, though it is still on the bus."""
    node.wait(600, 60)
    rank_ends(node, "ae", "4716")
    node.put("Gpus", "states", ae=None)
    node.put("Workloads", "uses", ae=None)
    node.wait(HOURS, 240)


CASES = (
    h100_leaves_the_bus_amid_a_training,
    lost_a100_does_not_start_again,
    only_card_of_a_guest_is_gone,
    fatal_error_of_a_slot_takes_an_a10,
    link_of_a_busy_l40s_falls_to_four_lanes,
    one_of_eight_trains_at_the_first_generation,
    retimer_of_a_switch_board_is_marginal,
    fabric_adapter_drops_off_its_slot,
    rented_card_falls_twice_in_a_day,
    guest_is_given_seven_of_eight_cards,
)
