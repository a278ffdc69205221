"""Incidents told by lines that machines print and monitors tend not to read."""

from tests.corpus.labels import incident
from tests.corpus.machines import blackwell
from tests.corpus.parts import nic
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER, REBOOT, goes_down

CARD = "mlx5_core 0000:5c:00.0"
DEAD = "nic_driver_fatal@eth0"
IOMMU = "iommu_fault@0000:3b:00.0"


@incident(DEAD, "net_link_down@eth0", unfit=True)
def health_issue_is_observed(node: Story) -> None:
    """The newer words of mlx5 for failing firmware, and the port goes down after them."""
    node.wait(60)
    node.log(
        f"{CARD}: print_health_info:431:(pid 0): Health issue observed, unrecoverable hardware "
        "error, severity(3) ERROR:"
    )
    goes_down(node)
    node.wait(120)


@incident("net_tx_timeout@eth0")
def transmit_queue_stands_still(node: Story) -> None:
    """The words of mlx5 with the queue's number behind them."""
    node.wait(60)
    node.log(
        f"{CARD} eth0: TX timeout on queue: 3, SQ: 0x11a2, CQ: 0x8ae, SQ Cons: 0x1 SQ Prod: 0x5d, "
        "usecs since last trans: 21584000"
    )
    node.wait(120)


@incident(IOMMU, may=("gpu_app_fault",))
def peer_writes_stopped_by_an_amd_iommu(node: Story) -> None:
    """Writes of a card to its peer are refused: copies between cards hang or are corrupt."""
    node.wait(60)
    for page in range(6):
        node.log(
            "nvidia 0000:3b:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0003 "
            f"address=0x8000{page:x}040 flags=0x0020]"
        )
    node.wait(120)


@incident(IOMMU, may=("gpu_app_fault",))
def peer_writes_stopped_by_an_intel_iommu(node: Story) -> None:
    """The same on a board of Intel: the address has no domain."""
    node.wait(60)
    for page in range(6):
        node.log(
            f"DMAR: [DMA Write NO_PASID] Request device [3b:00.0] fault addr 0x70ad{page}000 "
            "[fault reason 0x05] PTE Write access is not set"
        )
    node.wait(120)


@incident("process_crashed@4712", may=("gpu_idle_allocated",), unfit=False)
def rank_dies_of_a_general_protection_fault(node: Story) -> None:
    """A process of the job crashes by a trap other than a segfault."""
    node.wait(60)
    node.log(
        "traps: trainer[4712] general protection fault ip:7f12aa0b3c21 sp:7ffd1c0e9a10 error:0 "
        "in libnccl.so.2.21.5[7f12a9e00000+8a00000]"
    )
    node.wait(120)


@incident("process_crashed@4713", may=("gpu_idle_allocated",), unfit=False)
def rank_dies_of_an_illegal_instruction(node: Story) -> None:
    """A wheel for a newer processor: invalid opcode."""
    node.wait(60)
    node.log(
        "traps: trainer[4713] trap invalid opcode ip:7f12aa0b3c21 sp:7ffd1c0e9a10 error:0 in "
        "_kernels.so[7f12a9e00000+8a000]"
    )
    node.wait(120)


@incident(
    "gpu_init_failed@*3b*|gpu_probe_failed@node",
    may=(*GPU_AFTER, "gpu_init_failed", "gpu_probe_failed"),
    unfit=True,
    root=("gpu_init_failed@*3b*|gpu_probe_failed@node|gpu_count_low@node",),
)
def driver_cannot_bind_one_card(node: Story) -> None:
    """The probe of one card fails at load: the others work."""
    node.put("Gpus", "states", **{"3b": None})
    node.put("Workloads", "uses", **{"3b": None})
    node.put("Workloads", "clients", **{"4712": None})
    node.log("nvidia: probe of 0000:3b:00.0 failed with error -1")
    node.wait(300, 30)


@incident(
    "gpu_init_failed@*3b*|gpu_probe_failed@node",
    may=(*GPU_AFTER, "gpu_init_failed", "gpu_probe_failed"),
    unfit=True,
    root=("gpu_init_failed@*3b*|gpu_probe_failed@node|gpu_count_low@node",),
)
def driver_cannot_bind_one_card_in_newer_words(node: Story) -> None:
    """The same by a kernel of today."""
    node.put("Gpus", "states", **{"3b": None})
    node.put("Workloads", "uses", **{"3b": None})
    node.put("Workloads", "clients", **{"4712": None})
    node.log("nvidia 0000:3b:00.0: probe with driver nvidia failed with error -1")
    node.wait(300, 30)


@incident("gpu_probe_failed@node", may=(*GPU_AFTER, "nvml_unavailable"), unfit=True)
def another_driver_holds_the_cards(node: Story) -> None:
    """Nouveau has taken the cards: the driver is loaded and probes none."""
    node.put("Gpus", backend={"backend": "none", "reason": "driver_not_loaded", "nvml_up": False})
    node.put("Gpus", states=dict.fromkeys(node.bus_addresses))
    node.put("Workloads", clients=None, uses=None)
    node.log("NVRM: The NVIDIA probe routine was not called for 4 device(s).")
    node.log("NVRM: No NVIDIA devices probed.")
    node.wait(300, 30)


@incident("gpu_locked@node|gpu_hung@*|gpu_channel_timeout@*|gpu_xid_critical@*", may=GPU_AFTER)
def watchdog_says_that_a_card_is_locked(node: Story) -> None:
    """The driver's own watchdog gives up on a card, without an Xid."""
    node.wait(60)
    text = "RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7"
    node.log(f"NVRM: GPU1 krcWatchdog_IMPL: {text}")
    node.wait(120)


@incident(DEAD, may=("net_link_down",), unfit=True)
def network_card_leaves_the_bus(node: Story) -> None:
    """Igb reads only ones: the card is no longer there for its driver."""
    node.put("Network", "interfaces", "eth0", driver="igb")
    node.wait(60)
    node.log("igb 0000:5c:00.0 eth0: PCIe link lost")
    node.put("Network", "interfaces", "eth0", up=False, operstate="down")
    node.wait(120)


@incident("net_tx_timeout@eno1|nic_driver_fatal@eno1", may=("net_link_down",))
def transmit_unit_hangs(node: Story) -> None:
    """The unit of a small Intel card hangs."""
    node.put("Network", "interfaces", eno1=nic("eno1", driver="e1000e", speed_bytes_per_second=1e8))
    node.wait(60)
    node.log("e1000e 0000:00:1f.6 eno1: Detected Hardware Unit Hang:\n  TDH <0>\n  TDT <1>")
    node.wait(120)


@incident("nic_driver_fatal@eth0", may=("net_link_down",), unfit=True)
def broadcom_firmware_is_silent(node: Story) -> None:
    """Bnxt's firmware no longer responds."""
    node.put("Network", "interfaces", "eth0", driver="bnxt_en")
    node.wait(60)
    node.log("bnxt_en 0000:5c:00.0 eth0: Firmware not responding, status: 0x8000")
    node.wait(120)


@incident(
    "pcie_power_fault@0000:3a:00.0|pcie_link_down@0000:3a:00.0",
    "gpu_lost@GPU-3b",
    may=GPU_AFTER,
    unfit=True,
)
def slot_loses_its_power(node: Story) -> None:
    """The slot's own controller sees a power fault; the card in it is gone."""
    node.wait(60)
    node.log("pcieport 0000:3a:00.0: pciehp: Slot(3): Power fault")
    node.wait(5, 5)
    node.xid("3b", 79, "GPU has fallen off the bus.")
    node.lose("3b")
    node.wait(120)


@incident("kernel_oops@node|kernel_memory_corrupted@node", unfit=True)
def page_in_a_bad_state(node: Story) -> None:
    """The kernel finds a page whose state cannot be."""
    node.wait(60)
    node.log("BUG: Bad page state in process trainer  pfn:12f3456")
    node.wait(120)


@incident("clocksource_unstable@node", unfit=False)
def time_stamp_counter_is_unstable(node: Story) -> None:
    """The kernel no longer trusts the processor's clock and takes a slow one."""
    node.wait(60)
    node.log(
        "clocksource: timekeeping watchdog on CPU12: Marking clocksource 'tsc' as unstable "
        "because the skew is too large:"
    )
    node.log("clocksource: Switched to clocksource hpet")
    node.wait(300, 30)


@incident("conntrack_full@node")
def connection_table_overflows(node: Story) -> None:
    """Packets are dropped because the table is full: the kernel says so."""
    node.put("NetworkStack", conntrack_entries=None, conntrack_limit=None)
    node.wait(60)
    node.log("nf_conntrack: nf_conntrack: table full, dropping packet")
    node.wait(120)


@incident(
    "nvlink_fatal@*3b:00.0*|gpu_nvlink_fatal@GPU-3b",
    may=("gpu_recovery_required",),
    unfit=True,
    node=blackwell,
)
def link_unit_with_a_slash_in_its_name(node: Story) -> None:
    """A unit's name of two parts: severity and link stand behind it as ever."""
    node.wait(60)
    words = "TLW_RX/TLW_RX_PIPE0 Fatal   XC0 i0 Link 07 (0x00000004 0x00000001 0x00000000)"
    node.xid("3b", 145, words)
    node.wait(120)


@incident("gpu_recovery_required@GPU-3b", may=GPU_AFTER)
def driver_only_says_what_it_wants(node: Story) -> None:
    """Xid 154 alone, on a card whose driver has no field for it."""
    node.gpus(recovery_action=None)
    node.wait(60)
    node.xid("3b", 154, REBOOT)
    node.wait(120)


CASES = (
    health_issue_is_observed,
    transmit_queue_stands_still,
    peer_writes_stopped_by_an_amd_iommu,
    peer_writes_stopped_by_an_intel_iommu,
    rank_dies_of_a_general_protection_fault,
    rank_dies_of_an_illegal_instruction,
    driver_cannot_bind_one_card,
    driver_cannot_bind_one_card_in_newer_words,
    another_driver_holds_the_cards,
    watchdog_says_that_a_card_is_locked,
    network_card_leaves_the_bus,
    transmit_unit_hangs,
    broadcom_firmware_is_silent,
    slot_loses_its_power,
    page_in_a_bad_state,
    time_stamp_counter_is_unstable,
    connection_table_overflows,
    link_unit_with_a_slash_in_its_name,
    driver_only_says_what_it_wants,
)
