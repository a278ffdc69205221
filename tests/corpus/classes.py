"""Recordings of classes of what was once judged wrong: names, limits of a card, ends, old words."""

from tests.corpus.fifth.nodes import a100s
from tests.corpus.labels import healthy, incident
from tests.corpus.machines import processors_only, trainer, workstation
from tests.corpus.parts import GIB, Tree, disk, filesystem
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER, STARVED

MLX5 = "mlx5_core 0000:5c:00.0"
LINKS = {str(link): 1 for link in range(12)}


def _mapped() -> Tree:
    """A server whose scratch space is a logical volume."""
    node = processors_only()
    node["Disks"]["disks"]["dm-0"] = disk("dm-0", transport="dm", model="vg0-scratch")
    volume = filesystem("/dev/mapper/vg0-scratch", "/scratch", "xfs")
    node["Filesystems"]["filesystems"]["/scratch"] = volume
    return node


def _hot_by_design() -> Tree:
    """A workstation card without a margin that may be at 93 °C."""
    node = workstation()
    card = node["Gpus"]["states"]["3b"]["gpu"]
    limits = {"shutdown": 98, "slowdown": 95, "max_operating": 93}
    card |= {"thermal_margin_celsius": None, "temperature_threshold_celsius": limits}
    card |= {"memory_temperature_celsius": None}
    return node


@healthy("gpu_idle_allocated", "gpu_allocated_unused")
def card_goes_into_slices(node: Story) -> None:
    """A card is put into MIG mode, and a job runs in a slice: it has no NVLink then."""
    node.gpus(nvlink_up=LINKS)
    node.wait(60)
    node.job_ends()
    node.wait(30)
    down = dict.fromkeys(LINKS, 0)
    node.gpu("3b", mig_enabled=True, mig_mode_pending=True, nvlink_up=down)
    node.wait(60)
    node.gpu("3b", processes=[{"pid": 5101, "kind": "compute", "gpu_instance": 1}])
    node.wait(900, 60)


@incident(
    "filesystem_shutdown@/scratch",
    may=STARVED,
    unfit=True,
    gone=("filesystem_shutdown",),
    fit_at_end=True,
    node=_mapped,
)
def logical_volume_is_shut_down_and_mounted_anew(node: Story) -> None:
    """The log names a device of the mapper, the table of mounts its path."""
    node.wait(60)
    node.log(
        "XFS (dm-0): log I/O error -5",
        "XFS (dm-0): Filesystem has been shut down due to log error (0x2).",
    )
    node.wait(120)
    volume = node.take_away("Filesystems", "filesystems", "/scratch")
    node.wait(60)
    node.put("Filesystems", "filesystems", "/scratch", **volume)
    node.wait(120)


@incident(
    *("nvme_controller_failed@nvme1n1", "filesystem_shutdown@/scratch"),
    may=(*STARVED, "disk_io_errors", "nvme_timeout"),
    unfit=True,
    fit_at_end=False,
    node=_mapped,
)
def disk_below_a_logical_volume_dies(node: Story) -> None:
    """The volume lies on one disk: what ends the disk shuts its filesystem down."""
    node.put("Disks", "disks", "dm-0", slaves=["nvme1n1p1"])
    node.wait(60)
    node.log(
        "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
        "nvme nvme1: Disabling device after reset failure: -19",
        "XFS (dm-0): log I/O error -5",
        "XFS (dm-0): Filesystem has been shut down due to log error (0x2).",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.wait(900, 60)


@incident("nic_driver_fatal@*", unfit=True, fit_at_end=False, node=processors_only)
def adapter_of_another_maker_does_not_start(node: Story) -> None:
    """Its driver says no more than that it could not start it."""
    node.log("bnxt_en 0000:ca:00.0: probe with driver bnxt_en failed with error -19")
    node.wait(900, 60)


@healthy(node=processors_only)
def memory_is_set_aside_as_huge_pages(node: Story) -> None:
    """Virtual machines live in huge pages; of the rest there is enough."""
    node.put(
        "Memory",
        hugepages_total_bytes=960 * GIB,
        hugepages_free_bytes=0,
        available_bytes=40 * GIB,
        free_bytes=20 * GIB,
    )
    node.wait(1800, 60)


@healthy("gpu_persistence_off", node=_hot_by_design)
def card_is_hot_and_may_be(node: Story) -> None:
    """A blower card works at 89 °C; its maker lets it go to 93."""
    node.gpu("3b", temperature_celsius=89.0, fan_speed_percent={"0": 74})
    node.wait(1800, 60)


@incident(
    "gpu_overheat@GPU-3b",
    may=("gpu_persistence_off",),
    unfit=False,
    node=_hot_by_design,
    gone=("gpu_overheat",),
)
def card_is_hotter_than_it_may_be(node: Story) -> None:
    """The same card at 94 °C, and cool again."""
    node.gpu("3b", temperature_celsius=94.0, fan_speed_percent={"0": 74})
    node.wait(300, 30)
    node.gpu("3b", temperature_celsius=84.0)
    node.wait(300, 30)


@healthy(node=processors_only)
def interrupts_of_a_disk_are_lost(node: Story) -> None:
    """A command was answered, only nobody was told: the driver finds the answer by looking."""
    node.wait(60)
    node.log("nvme nvme1: I/O tag 24 (5018) opcode 0x2 (I/O Cmd) QID 3 timeout, completion polled")
    node.wait(900, 60)


@incident(
    "nic_driver_fatal@eth0",
    may=STARVED,
    unfit=True,
    gone=("nic_driver_fatal",),
    fit_at_end=True,
    node=processors_only,
)
def adapter_recovers_by_itself(node: Story) -> None:
    """The firmware of an adapter stops; its driver brings it back before the link is looked at."""
    node.wait(60)
    node.log(
        f"{MLX5}: poll_health:840:(pid 0): device's health compromised - reached miss count",
        f"{MLX5}: mlx5_health_try_recover:329:(pid 4822): handling bad device here",
    )
    node.wait(30)
    node.log(f"{MLX5}: mlx5_health_try_recover:347:(pid 4822): health recovery succeeded")
    node.wait(300, 30)


@incident("nic_driver_fatal@*", unfit=True, fit_at_end=False, node=processors_only)
def adapter_does_not_start(node: Story) -> None:
    """At boot the firmware of a second adapter stays silent: its driver gives up."""
    node.put("Host", uptime_secs=140.0)
    node.log(
        "mlx5_core 0000:ca:00.0: mlx5_function_setup:1278:(pid 811): Firmware over 120000 MS in "
        "pre-initializing state, aborting",
        "mlx5_core 0000:ca:00.0: probe_one:1888:(pid 811): mlx5_init_one failed with error code "
        "-110",
        "mlx5_core: probe of 0000:ca:00.0 failed with error -110",
    )
    node.wait(1800, 60)


@healthy(node=processors_only)
def virtual_function_does_not_start(node: Story) -> None:
    """A virtual function is made for a guest and fails to start on the host; the adapter works."""
    node.wait(60)
    node.log("mlx5_core: probe of 0000:5c:00.2 failed with error -16")
    node.wait(900, 60)


@healthy(node=processors_only)
def adapter_starts_at_the_second_time(node: Story) -> None:
    """The driver of an adapter is loaded again after its start failed: its interface is there."""
    eth0 = node.take_away("Network", "interfaces", "eth0")
    node.log("mlx5_core: probe of 0000:5c:00.0 failed with error -110")
    node.put("Network", "interfaces", eth0=eth0)
    node.wait(900, 60)


@incident(
    "storage_adapter_failed@*",
    may=(*STARVED, "disk_stalled"),
    unfit=True,
    fit_at_end=False,
    node=processors_only,
)
def adapter_of_disks_goes_offline(node: Story) -> None:
    """The firmware of an adapter of another maker has crashed."""
    node.wait(60)
    node.log(
        "smartpqi 0000:65:00.0: controller is offline: status code 0x6100c",
        "smartpqi 0000:65:00.0: controller offline",
    )
    node.wait(600, 60)


@incident("disk_io_errors@nvme1n1", may=STARVED, unfit=False, fit_at_end=True, node=processors_only)
def path_to_a_disk_is_named(node: Story) -> None:
    """With multipath the kernel names the path on which a request failed."""
    node.wait(60)
    node.log(
        "I/O error, dev nvme1c0n1, sector 8388608 op 0x0:(READ) flags 0x2000000 phys_seg 1 prio "
        "class 2",
    )
    node.wait(600, 60)


@incident(
    *("gpu_row_remap_failed@GPU-9b", "gpu_memory_unrepairable@GPU-9b"),
    root="gpu_row_remap_failed@GPU-9b",
    may=GPU_AFTER,
    unfit=True,
    fit_at_end=False,
)
def memory_cannot_be_repaired(node: Story) -> None:
    """A driver of today says it in a word of its own, and a failed remap confirms it."""
    node.wait(60)
    node.gpu("9b", unrepairable_memory=True, row_remap_failed=True)
    node.wait(600, 60)


@incident(
    *("gpu_lost@GPU-bb", "pcie_device_inaccessible@0000:bb:00.0"),
    root="pcie_device_inaccessible@0000:bb:00.0",
    may=(*GPU_AFTER, "gpu_count_low"),
    unfit=True,
    fit_at_end=False,
    node=trainer,
)
def reset_does_not_bring_a_card_back(node: Story) -> None:
    """The kernel waits a minute for a card after a reset of its bus, and gives up."""
    node.wait(60)
    node.log("nvidia 0000:bb:00.0: not ready 65535ms after bus reset; giving up")
    node.wait(15)
    node.lose("bb")
    node.wait(600, 60)


@healthy(node=processors_only)
def stick_hangs_while_it_is_read(node: Story) -> None:
    """A USB disk is given up: nothing of the node lies on it."""
    stick = disk("sdz", transport="usb", removable=True, scsi_address="9:0:0:0")
    node.put("Disks", "disks", sdz=stick)
    node.wait(60)
    node.log("sd 9:0:0:0: rejecting I/O to offline device")
    node.put("Disks", "disks", "sdz", scsi_state="offline")
    node.wait(600, 60)


@incident(
    *("gpu_hung@GPU-9b", "process_waits_for_storage@4713", "hung_task@4713"),
    root=("gpu_hung@GPU-9b",),
    may=GPU_AFTER,
    unfit=True,
    lasts=("gpu_hung@GPU-9b",),
)
def rank_of_a_card_that_hangs_is_blocked_for_minutes(node: Story) -> None:
    """The rank slept first, and its card is not read any more only after that."""
    node.wait(60)
    node.process(4713, state="uninterruptible", waits_since_boottime=node.at)
    node.wait(20)
    node.state("9b", up=False, reason="hung", stale=True)
    node.wait(160)
    node.log("INFO: task trainer:4713 blocked for more than 122 seconds.")
    node.wait(600, 60)


@incident(
    "ib_port_rate_low@mlx5_1*",
    root=("ib_port_rate_low@mlx5_1*",),
    may=("ib_link_errors", "ib_port_down"),
    unfit=True,
    fit_at_end=True,
    node=a100s,
)
def port_is_down_for_two_minutes_and_slower_after_that(node: Story) -> None:
    """What is left is a port with half of its lanes: that it was down is over."""
    node.wait(300, 30)
    node.put("Infiniband", "ports", "mlx5_1", state="down", phys_state="polling")
    node.put("Infiniband", "ports", "mlx5_1", errors={"link_downed": 1})
    node.wait(120, 15)
    node.put("Infiniband", "ports", "mlx5_1", state="active", phys_state="linkup")
    node.put("Infiniband", "ports", "mlx5_1", rate_bytes_per_second=12.5e9)
    node.wait(3600, 60)


@incident(
    *("ib_port_rate_low@mlx5_0*", "ib_link_errors@mlx5_0*"),
    root=("ib_port_rate_low@mlx5_0*",),
    may=("ib_port_errors",),
    unfit=False,
    node=a100s,
)
def cable_with_a_broken_lane_has_errors_too(node: Story) -> None:
    """A port trains at half of its rate without going down, and symbols are wrong on it."""
    node.wait(300, 30)
    node.put("Infiniband", "ports", "mlx5_0", rate_bytes_per_second=12.5e9)
    node.wait(600, 30)
    node.rate(30.0, "Infiniband", "ports", "mlx5_0", "errors", "symbol_error")
    node.wait(1200, 30)


def _is_stuck(node: Story, times: int) -> None:
    node.wait(60)
    for number in range(1, times + 1):
        node.log(f"watchdog: BUG: soft lockup - CPU#6 stuck for {26 * number}s! [kworker/6:0:911]")
        node.wait(26, 13)
    node.wait(600, 60)


@incident("cpu_lockup@6", may=("rcu_stall",), unfit=False, node=processors_only)
def processor_is_stuck_for_three_minutes(node: Story) -> None:
    """It goes on by itself before anybody would drain the node."""
    _is_stuck(node, 8)


@incident("cpu_lockup@6", may=("rcu_stall",), unfit=True, node=processors_only)
def processor_is_stuck_for_ten_minutes(node: Story) -> None:
    """What waits for this processor waits for ever."""
    _is_stuck(node, 24)


CASES = (
    processor_is_stuck_for_three_minutes,
    processor_is_stuck_for_ten_minutes,
    rank_of_a_card_that_hangs_is_blocked_for_minutes,
    port_is_down_for_two_minutes_and_slower_after_that,
    cable_with_a_broken_lane_has_errors_too,
    card_goes_into_slices,
    logical_volume_is_shut_down_and_mounted_anew,
    disk_below_a_logical_volume_dies,
    adapter_of_another_maker_does_not_start,
    memory_is_set_aside_as_huge_pages,
    card_is_hot_and_may_be,
    card_is_hotter_than_it_may_be,
    interrupts_of_a_disk_are_lost,
    adapter_recovers_by_itself,
    adapter_does_not_start,
    virtual_function_does_not_start,
    adapter_starts_at_the_second_time,
    adapter_of_disks_goes_offline,
    path_to_a_disk_is_named,
    memory_cannot_be_repaired,
    reset_does_not_bring_a_card_back,
    stick_hangs_while_it_is_read,
)
