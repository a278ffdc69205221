"""Classes whose lines were not known: network adapters of other makers, buses, processors."""

from tests.corpus.labels import healthy, incident
from tests.corpus.machines import processors_only
from tests.corpus.ninth.nodes import mi250s
from tests.corpus.parts import Tree, nic
from tests.corpus.seventh.nodes import arcs
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER, STARVED

ENA = "ena 0000:5c:00.0"
BNXT = "bnxt_en 0000:5c:00.0 eth0"
ICE = "ice 0000:5c:00.0"


def _guest() -> Tree:
    """A virtual machine whose interface has no PCI address of its own."""
    node = processors_only()
    node["Network"]["interfaces"]["eth0"] = nic("eth0", driver="virtio_net", mtu=1500)
    return node


@incident(
    "nic_driver_fatal@eth0",
    may=STARVED,
    unfit=True,
    gone=("nic_driver_fatal",),
    fit_at_end=True,
    node=processors_only,
)
def adapter_of_a_cloud_stops_answering(node: Story) -> None:
    """Its device sends no sign of life; the driver resets it."""
    node.wait(60)
    node.log(f"{ENA} eth0: Keep alive watchdog timeout.", f"{ENA} eth0: Trigger reset is on")
    node.wait(30)
    node.log(f"{ENA}: Device reset completed successfully")
    node.wait(600, 30)


@incident("nic_driver_fatal@*", may=STARVED, unfit=True, fit_at_end=False, node=processors_only)
def adapter_of_a_cloud_cannot_be_reset(node: Story) -> None:
    """After the reset the device does not come back."""
    node.wait(60)
    node.log(
        f"{ENA} eth0: Keep alive watchdog timeout.",
        f"{ENA}: Reset attempt failed. Can not reset the device",
    )
    node.wait(600, 30)


@incident("net_tx_timeout@eth0", may=STARVED, unfit=False, node=processors_only)
def packets_of_a_cloud_are_never_acknowledged(node: Story) -> None:
    """Completions are lost; the driver resets the device, and it works again."""
    node.wait(60)
    node.log(
        f"{ENA} eth0: The number of lost tx completions is above the threshold (129 > 128). Reset "
        "the device",
        f"{ENA}: Device reset completed successfully",
    )
    node.wait(7200, 60)


@healthy(node=processors_only)
def adapter_of_a_cloud_starts(node: Story) -> None:
    """What the driver says when it is loaded, and when a packet is late."""
    node.log(
        f"{ENA}: ENA device version: 0.10",
        f"{ENA}: Elastic Network Adapter (ENA) found at mem c0504000, mac addr 02:aa",
        f"{ENA} eth0: Found a Tx that wasn't completed on time, qid 3, index 12. 20000 usecs have "
        "passed since last napi execution. Missing Tx timeout value 5000 msecs",
    )
    node.wait(1800, 60)


@incident("nic_driver_fatal@eth0", may=STARVED, unfit=True, fit_at_end=False, node=processors_only)
def firmware_of_a_thor_is_silent(node: Story) -> None:
    """Commands to the firmware run into their timeouts, one after the other."""
    node.wait(60)
    for number in (0x3B, 0x3C):
        node.log(f"{BNXT}: Error (timeout: 500015) msg {{0x41 {number:#x}}} len:0")
        node.wait(30)
    node.log(f"{BNXT}: Firmware reset aborted, rc = -110")
    node.wait(600, 30)


@incident("nic_driver_fatal@*", may=STARVED, unfit=True, fit_at_end=False, node=processors_only)
def adapter_cannot_be_rebuilt(node: Story) -> None:
    """After a reset of an E810 its switch cannot be set up again."""
    node.wait(60)
    node.log(
        f"{ICE}: PF VSI rebuild failed: -22",
        f"{ICE}: Rebuild failed, unload and reload driver",
    )
    node.wait(600, 30)


@incident("net_tx_timeout@eth0", may=STARVED, unfit=False, node=_guest)
def queue_of_a_guest_is_stuck(node: Story) -> None:
    """The host takes no packets for five seconds."""
    node.wait(60)
    node.log("virtio_net virtio0 eth0: NETDEV WATCHDOG: CPU: 1: transmit queue 0 timed out 5016 ms")
    node.wait(7200, 60)


@incident(
    "nic_module_hot@eth0",
    may=STARVED,
    unfit=False,
    gone=("nic_module_hot",),
    fit_at_end=True,
    node=processors_only,
)
def chip_of_a_thor_is_hot(node: Story) -> None:
    """The fans of a server are slow; the chip of its adapter is warm, and cools down again."""
    node.wait(60)
    node.log(
        f"{BNXT}: Chip temperature has gone above the warning thermal threshold!",
        f"{BNXT}: Temperature (In Celsius), Current: 106, threshold: 105",
    )
    node.wait(300, 30)
    node.log(f"{BNXT}: Chip temperature has gone below the warning thermal threshold!")
    node.wait(1800, 60)


@incident("gpu_ring_timeout@*", may=(*GPU_AFTER, "gpu_reset"), unfit=False, node=mi250s)
def queue_of_an_older_driver_is_not_preempted(node: Story) -> None:
    """Before Linux 6.9 the line names no card; the reset after it does."""
    node.wait(60)
    device = f"amdgpu 0000:{node.bus_addresses[0]}:00.0: amdgpu"
    node.log(
        "amdgpu: qcm fence wait loop timeout expired",
        "amdgpu: The cp might be in an unrecoverable state due to an unsuccessful queues "
        "preemption\n"
        "amdgpu: Failed to evict process queues\n"
        f"{device}: GPU reset begin!",
    )
    node.wait(30)
    node.log(f"{device}: GPU reset(1) succeeded!")
    node.wait(1800, 60)


@incident("gpu_ring_timeout@*", may=GPU_AFTER, unfit=False, node=arcs)
def job_of_an_arc_times_out_in_linux_6_8(node: Story) -> None:
    """Kernels before 6.11 name no process."""
    node.wait(60)
    bus = node.bus_addresses[0]
    node.log(f"xe 0000:{bus}:00.0: [drm] Timedout job: seqno=4294967169, guc_id=5, flags=0x0")
    node.wait(1800, 60)


@incident(
    "network_filesystem_stalled@node", may=STARVED, unfit=False, is_over=True, node=processors_only
)
def metadata_server_of_ceph_comes_back(node: Story) -> None:
    """It hung for ten minutes, and answers again: the session was never lost."""
    node.wait(60)
    node.log("ceph: mds0 caps stale", "ceph: mds0 hung")
    node.wait(600, 30)
    node.log("ceph: mds0 came back", "ceph: mds0 caps renewed")
    node.wait(900, 60)


@healthy(node=processors_only)
def adapters_say_what_they_do(node: Story) -> None:
    """A short pause of a firmware, a command that is not supported, a card of another name."""
    node.log(
        f"{BNXT}: Firmware non-fatal reset event, data1: 0x2, data2: 0x0, min wait 1000 ms, max "
        "wait 3000 ms",
        "bnxt_en 0000:5c:00.0: Device requests max timeout of 100 seconds, may trigger hung task "
        "watchdog",
        f"{ICE}: Possible mis-configuration of the Ethernet port detected, please use the Intel(R) "
        "Ethernet Port Configuration Tool application to address the issue.",
        "ionic 0000:5c:00.0: FW Up: restarting...",
        "gve 0000:00:04.0: Performing reset",
    )
    node.wait(600, 60)


@incident("firmware_hardware_error@node", unfit=False, node=processors_only)
def bus_signals_a_system_error(node: Story) -> None:
    """A device pulls SERR; nothing else says which one."""
    node.wait(60)
    node.log(
        "NMI: PCI system error (SERR) for reason b1 on CPU 0.",
        "Dazed and confused, but trying to continue",
    )
    node.wait(1800, 60)


@healthy(node=processors_only)
def interrupts_without_a_reason(node: Story) -> None:
    """Profilers and firmware raise interrupts that nobody claims."""
    node.wait(60)
    node.log(
        "Uhhuh. NMI received for unknown reason 3d on CPU 12.",
        "Dazed and confused, but trying to continue",
        "INFO: NMI handler (perf_event_nmi_handler) took too long to run: 1.234 msecs",
        'irq 16: nobody cared (try booting with the "irqpoll" option)',
    )
    node.wait(600, 60)


@incident("iommu_fault@0000:5c:00.0", may=STARVED, unfit=False, node=processors_only)
def device_has_no_entry_in_the_table(node: Story) -> None:
    """A device that was taken from a guest goes on writing: the IOMMU knows no table for it."""
    node.wait(60)
    for page in range(6):
        node.log(
            "iommu ivhd0: AMD-Vi: Event logged [ILLEGAL_DEV_TABLE_ENTRY device=0000:5c:00.0 "
            f"pasid=0x00000 address=0x3737b0{page}000 flags=0x0020]"
        )
        node.wait(15)
    node.wait(1800, 60)


@incident("kernel_oops@node", unfit=True, fit_at_end=False, node=processors_only)
def stack_of_the_kernel_overflows(node: Story) -> None:
    """A recursion in a driver meets the guard page of its stack."""
    node.wait(60)
    node.log(
        "BUG: TASK stack guard page was hit at 00000000e0a4b3c7 (stack is 00000000b1d2e3f4.."
        "00000000c5d6e7f8)",
        "stack guard page: 0000 [#1] PREEMPT SMP NOPTI",
    )
    node.wait(600, 60)


@incident("rcu_stall@node", unfit=False, node=processors_only)
def task_keeps_its_grace_period(node: Story) -> None:
    """A task in the kernel neither sleeps nor yields for ten minutes."""
    node.wait(60)
    node.log("rcu: INFO: rcu_tasks detected stalls on tasks:")
    node.wait(3600, 60)


@incident("gpu_firmware_timeout@*", may=GPU_AFTER, unfit=True, fit_at_end=False, node=mi250s)
def power_firmware_of_a_card_hangs(node: Story) -> None:
    """The management unit takes no more messages: clocks and heat of the card are unknown."""
    node.wait(60)
    bus = node.bus_addresses[0]
    device = f"amdgpu 0000:{bus}:00.0: amdgpu"
    node.log(
        f"{device}: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x00000006 "
        "SMN_C2PMSG_82:0x00000000",
        f"{device}: Failed to export SMU metrics table!",
        f"{device}: SMU is in hanged state, failed to send smu message!",
    )
    node.wait(1800, 60)


@healthy("gpu_idle_allocated", "gpu_persistence_off", node=mi250s)
def power_firmware_of_a_card_starts(node: Story) -> None:
    """What the management unit says at a load of the driver."""
    bus = node.bus_addresses[0]
    node.log(
        f"amdgpu 0000:{bus}:00.0: amdgpu: SMU is initialized successfully!",
        f"amdgpu 0000:{bus}:00.0: amdgpu: smu driver if version = 0x08042024, smu fw if version = "
        "0x08042025, smu fw program = 4",
        f"amdgpu 0000:{bus}:00.0: amdgpu: SMU driver if version not matched",
    )
    node.wait(600, 60)


CASES = (
    adapter_of_a_cloud_stops_answering,
    adapter_of_a_cloud_cannot_be_reset,
    packets_of_a_cloud_are_never_acknowledged,
    adapter_of_a_cloud_starts,
    firmware_of_a_thor_is_silent,
    adapter_cannot_be_rebuilt,
    queue_of_a_guest_is_stuck,
    chip_of_a_thor_is_hot,
    queue_of_an_older_driver_is_not_preempted,
    job_of_an_arc_times_out_in_linux_6_8,
    metadata_server_of_ceph_comes_back,
    adapters_say_what_they_do,
    bus_signals_a_system_error,
    interrupts_without_a_reason,
    device_has_no_entry_in_the_table,
    stack_of_the_kernel_overflows,
    task_keeps_its_grace_period,
    power_firmware_of_a_card_hangs,
    power_firmware_of_a_card_starts,
)
