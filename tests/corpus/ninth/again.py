"""Incidents that come back or are repaired, and faults of one node that have different causes."""

from tests.corpus.eighth.nodes import flaps, kubelet_node, rank_ends
from tests.corpus.fifth.nodes import a100s, loads, unloads
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import (
    DRAM_ROW,
    HOUR,
    delta_a100s,
    is_reset,
    others,
    roce_box,
    waits,
    works,
)
from tests.corpus.seventh.nodes import LINKS, NOBODY, SPINS, rests
from tests.corpus.sixth.nodes import h200s
from tests.corpus.story import Story
from tests.corpus.words import FELL, GPU_AFTER


@incident(
    "gpu_lost@GPU-cb",
    may=(*GPU_AFTER, *LINKS, *SPINS, "gpu_init_failed", "gpu_probe_failed", "gpu_xid_critical"),
    unfit=True,
    lasts=("gpu_lost@GPU-cb",),
    fit_at_end=False,
    node=a100s,
)
def lost_card_is_brought_back_and_lost_again(node: Story) -> None:
    """Xid 79, a power cycle of the slot and a load of the driver, five good hours, Xid 79 again."""
    for turn in (1, 2):
        node.wait(120)
        node.xid("cb", 79, FELL, pid="4718", name="python")
        node.lose("cb")
        waits(node, *others(node, "cb"), watts=92.0)
        node.wait(900, 60)
        if turn == 1:
            rests(node, 58.0)
            unloads(node, 90)
            loads(node, a100s)
            node.wait(5 * HOUR, 300)
    rests(node, 58.0)
    node.wait(HOUR, 120)


@incident(
    *("gpu_memory_contained@GPU-46", "memory_corrected_rate@*"),
    root=(
        "gpu_memory_contained@GPU-46|gpu_ecc_uncorrected@GPU-46|gpu_row_remap_pending@GPU-46",
        "memory_corrected_rate@*",
    ),
    may=(*GPU_AFTER, *SPINS, "gpu_ecc_uncorrected", "gpu_row_remap_pending"),
    gone=("gpu_row_remap_pending",),
    node=delta_a100s,
)
def module_and_card_have_errors_on_one_day(node: Story) -> None:
    """A module of the node corrects all day; at noon a card has Xid 94 and 63 and is reset."""
    kind = ("MemoryErrors", "controllers", "mc1", "dimms", "b", "corrected_errors")
    node.rate(0.2, *kind)
    node.rate(0.2, "MemoryErrors", "controllers", "mc1", "corrected_errors")
    node.wait(2 * HOUR, 120)
    node.xid("46", 94, "Contained: SM (0x1). RST: No, D-RST: No", pid="4712", name="namd3")
    node.xid("46", 63, DRAM_ROW.format(0x0711E0C40), **NOBODY)
    node.gpu("46", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.gpu("46", row_remap_pending=True, remapped_rows_total={"uncorrected": 1})
    rank_ends(node, "46", "4712")
    node.wait(1800, 60)
    is_reset(node, "46")
    node.gpu("46", ecc_errors_total={"uncorrected": {"volatile": 0, "aggregate": 1}})
    node.gpu("46", row_remap_pending=False)
    node.wait(2 * HOUR, 120)


@incident(
    *("power_supply_alarm@*", "gpu_lost@GPU-a3"),
    root=("power_supply_alarm@*", "gpu_lost@GPU-a3"),
    may=(*GPU_AFTER, *LINKS, *SPINS, "gpu_power_brake", "gpu_clock_low"),
    unfit=True,
    lasts=("gpu_lost@GPU-a3",),
    gone=("power_supply_alarm",),
    fit_at_end=False,
    node=h200s,
)
def card_is_lost_a_day_after_a_supply(node: Story) -> None:
    """A supply is dead in the morning and exchanged; at night a card is lost: two faults."""
    node.wait(120)
    node.put("Sensors", "sensors", "psu1", value=0.0, alarm=True)
    node.put("Sensors", "sensors", "psu2", value=2880.0)
    node.wait(HOUR, 60)
    node.put("Sensors", "sensors", "psu1", value=1450.0, alarm=False)
    node.put("Sensors", "sensors", "psu2", value=1450.0)
    node.wait(9 * HOUR, 600)
    node.xid("a3", 79, FELL, **NOBODY)
    node.lose("a3")
    waits(node, *others(node, "a3"))
    node.wait(2 * HOUR, 240)


@incident(
    *("filesystem_full@/", "net_link_flap@ens1f0"),
    root=("filesystem_full@/", "net_link_flap@ens1f0"),
    may=("net_link_down", "tcp_retransmit_burst", "filesystem_readonly"),
    unfit=False,
    gone=("filesystem_full",),
    node=kubelet_node,
)
def link_flaps_and_its_log_fills_the_root(node: Story) -> None:
    """A leg flaps all day; another team's logs fill the root, which is cleaned in the evening."""
    node.wait(120)
    flaps(node, "ens1f0", 8, 5, 300)
    node.put("Filesystems", "filesystems", "/", available_bytes=3 * 10**10, free_bytes=3 * 10**10)
    node.wait(2 * HOUR, 120)
    node.put("Filesystems", "filesystems", "/", available_bytes=6 * 10**11, free_bytes=6 * 10**11)
    node.wait(HOUR, 120)


@incident(
    *("gpu_gsp_failure@GPU-ae", "gpu_lost@GPU-ae"),
    root=("gpu_gsp_failure@GPU-ae|gpu_lost@GPU-ae",),
    may=(*GPU_AFTER, *LINKS, *SPINS, "gpu_xid_critical", "gpu_hung", "gpu_init_failed"),
    unfit=True,
    gone=("gpu_lost", "gpu_gsp_failure"),
    fit_at_end=True,
    node=roce_box,
)
def lost_card_is_back_after_a_load_of_the_driver(node: Story) -> None:
    """Xid 119, then 79; drained, the bus is scanned anew, the driver loaded: eight cards again."""
    node.wait(120)
    text = (
        "Timeout after 6s of waiting for RPC response from GPU5 GSP! Expected function 76 "
        "(GSP_RM_CONTROL) (0x2080a0a4 0x4)."
    )
    node.xid("ae", 119, text, pid="3300", name="dcgm")
    node.wait(45, 15)
    node.xid("ae", 79, FELL, **NOBODY)
    node.lose("ae")
    waits(node, *others(node, "ae"))
    node.wait(900, 60)
    unloads(node, 60)
    loads(node, roce_box)
    works(node)
    node.wait(2 * HOUR, 120)


CASES = (
    lost_card_is_brought_back_and_lost_again,
    module_and_card_have_errors_on_one_day,
    card_is_lost_a_day_after_a_supply,
    link_flaps_and_its_log_fills_the_root,
    lost_card_is_back_after_a_load_of_the_driver,
)
