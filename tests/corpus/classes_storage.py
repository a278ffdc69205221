"""Classes that kernels report and nothing read: UVM, workqueues, hardware RAID, lent volumes."""

from tests.corpus.eighth.nodes import cloud_volumes
from tests.corpus.labels import healthy, incident
from tests.corpus.machines import processors_only
from tests.corpus.parts import Tree, controller, disk, filesystem, pcie_device
from tests.corpus.story import Story
from tests.corpus.words import FELL, GPU_AFTER, STARVED, driver_loads_again, write_failed

UVM = (
    "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot "
    "to recover."
)
WAITS = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
ALL = ("1b", "3b", "9b", "bb")
ASKED = tuple(f"gpu_recovery_required@GPU-{bus}" for bus in ALL)
MEGARAID = "megaraid_sas 0000:18:00.0"
POOL = "BUG: workqueue lockup - pool cpus={} node={} flags=0x0 nice={} stuck for {}s!"


def _all_ask_for_a_boot(node: Story) -> None:
    for bus in ALL:
        node.xid(bus, 154, WAITS)
        node.gpu(bus, recovery_action="reboot")


@incident(
    *("gpu_uvm_failed@node", *ASKED),
    root=("gpu_uvm_failed@node",),
    may=(*GPU_AFTER, "gpu_app_fault"),
    unfit=True,
    lasts=("gpu_uvm_failed@node",),
    fit_at_end=False,
)
def fault_of_a_copy_engine_ends_uvm(node: Story) -> None:
    """An MMU fault of a job, and the driver's memory manager gives up for all cards."""
    node.wait(60)
    text = "MMU Fault: ENGINE CE2_PBDMA0 HUBCLIENT_ESC faulted @ 0x7f1a_20000000."
    node.xid("3b", 31, text, pid="4712", name="trainer")
    node.log(UVM)
    _all_ask_for_a_boot(node)
    node.wait(1800, 60)


@incident(
    "gpu_uvm_failed@node",
    may=(*GPU_AFTER, *ASKED),
    unfit=True,
    gone=("gpu_uvm_failed", "gpu_recovery_required"),
    fit_at_end=True,
)
def uvm_works_again_with_the_driver(node: Story) -> None:
    """The jobs are drained, and the driver is unloaded and loaded."""
    node.wait(60)
    node.log("NVRM: uvm encountered global fatal error 0x62, requiring os reboot to recover.")
    _all_ask_for_a_boot(node)
    node.wait(600, 30)
    node.job_ends()
    driver_loads_again(node)
    node.wait(600, 30)


@incident(
    *("gpu_lost@GPU-9b", "gpu_uvm_failed@node"),
    root=("gpu_lost@GPU-9b",),
    may=(*GPU_AFTER, *ASKED, "gpu_busy_without_work"),
    unfit=True,
    fit_at_end=False,
)
def lost_card_takes_uvm_with_it(node: Story) -> None:
    """A card falls off the bus, and the memory manager of all cards follows."""
    node.wait(60)
    node.xid("9b", 79, FELL)
    node.lose("9b")
    node.wait(15)
    node.log(UVM)
    node.wait(1800, 60)


@healthy("gpu_idle_allocated")
def uvm_is_loaded_and_unloaded(node: Story) -> None:
    """A program's words about UVM are no kernel's, and its module comes and goes."""
    node.wait(60)
    node.log(
        "check-gpu[4411]: NVRM: uvm encountered global fatal error 0x60, requiring os reboot",
        "nvidia-uvm: Unloaded the UVM driver.",
        "nvidia-uvm: Loaded the UVM driver, major device number 508.",
    )
    node.wait(600, 60)


@incident("workqueue_lockup@node", unfit=False, gone=("workqueue_lockup",), node=processors_only)
def worker_of_a_processor_is_stuck(node: Story) -> None:
    """A worker of one CPU spins for five minutes; the kernel says so every half minute."""
    node.wait(60)
    for secs in range(37, 337, 30):
        node.log(POOL.format(21, 0, 0, secs))
        node.wait(30)
    node.wait(1800, 60)


@healthy(node=cloud_volumes)
def guest_is_paused_for_half_a_minute(node: Story) -> None:
    """A guest is moved: two pools of one CPU and one of another report the same pause, once."""
    node.wait(60)
    node.log(POOL.format(3, 0, 0, 34), POOL.format(3, 0, -20, 34), POOL.format(1, 0, 0, 33))
    node.wait(1800, 60)


@incident(
    "storage_adapter_reset@node", may=STARVED, unfit=False, fit_at_end=True, node=processors_only
)
def raid_adapter_is_reset_after_a_timeout(node: Story) -> None:
    """Commands stay unanswered for three minutes; the adapter is reset and works again."""
    node.wait(60)
    for waited in range(5, 180, 60):
        node.log(f"{MEGARAID}: [{waited}]waiting for 2 commands to complete for scsi0")
        node.wait(60)
    node.log(
        f"{MEGARAID}: pending commands remain after waiting, will reset adapter scsi0.",
        f"{MEGARAID}: resetting fusion adapter scsi0.",
    )
    node.wait(15)
    node.log(
        f"{MEGARAID}: FW now in Ready state",
        f"{MEGARAID}: Reset successful for scsi0.",
        f"{MEGARAID}: 9249 (2s/0x0020/CRIT) - Controller encountered a fatal error and was reset",
    )
    node.wait(2 * 3600, 120)


@incident(
    *("storage_adapter_failed@node", "storage_adapter_reset@node"),
    root=("storage_adapter_failed@node",),
    may=STARVED,
    unfit=True,
    fit_at_end=False,
    node=processors_only,
)
def reset_of_a_raid_adapter_fails(node: Story) -> None:
    """The adapter does not come back from its reset."""
    node.wait(60)
    node.log(f"{MEGARAID}: pending commands remain after waiting, will reset adapter scsi0.")
    node.wait(120)
    node.log(f"{MEGARAID}: Reset failed, killing adapter scsi0.")
    node.wait(1800, 60)


@incident("raid_volume_degraded@node", unfit=True, fit_at_end=False, node=processors_only)
def volume_of_a_raid_adapter_lost_a_disk(node: Story) -> None:
    """A disk behind the adapter fails: its firmware says that the volume is degraded."""
    node.wait(60)
    node.log(f"{MEGARAID}: 13544 (777119213s/0x0001/CRIT) - VD 02/1 is now DEGRADED")
    node.wait(3600, 60)


@incident(
    "raid_volume_degraded@node",
    unfit=True,
    gone=("raid_volume_degraded",),
    fit_at_end=True,
    node=processors_only,
)
def volume_of_a_raid_adapter_is_rebuilt(node: Story) -> None:
    """A spare takes over; where the driver logs all, it says when the volume is whole again."""
    node.wait(60)
    node.log(f"{MEGARAID}: 801 (777119213s/0x0001/CRIT) - VD 00/0 is now PARTIALLY DEGRADED")
    node.wait(3 * 3600, 300)
    node.log(f"{MEGARAID}: 830 (777130001s/0x0001/INFO) - VD 00/0 is now OPTIMAL")
    node.wait(600, 60)


@healthy(node=processors_only)
def raid_adapter_reports_its_routine(node: Story) -> None:
    """What an adapter says at a boot and during its patrol reads."""
    node.put("Host", uptime_secs=12.0)
    node.log(
        f"{MEGARAID}: FW now in Ready state",
        f"{MEGARAID}: Init cmd success",
        f"{MEGARAID}: 4105 (boot + 7s/0x0020/CRIT) - Time established as 11/22/26 11:42:03",
        f"{MEGARAID}: 4410 (777100000s/0x0008/CRIT) - Battery temperature is high",
    )
    node.wait(1800, 60)


def _on_lent_volumes() -> Tree:
    node = cloud_volumes()
    disks = node["Disks"]["disks"]
    for name in ("nvme0n1", "nvme1n1"):
        disks[name]["model"] = "Amazon Elastic Block Store"
    disks["nvme4n1"] = disk("nvme4n1", model="Amazon Elastic Block Store")
    node["NvmeControllers"]["controllers"]["nvme4"] = controller(4, "0000:00:1b.0")
    node["Pcie"]["devices"]["1b.0"] = pcie_device("0000:00:1b.0", "nvme")
    place = "/var/lib/kubelet/plugins/ebs/pvc-1"
    node["Filesystems"]["filesystems"][place] = filesystem("/dev/nvme4n1", place, "ext4")
    return node


def _detached(node: Story) -> None:
    node.put("Disks", "disks", nvme4n1=None)
    node.put("NvmeControllers", "controllers", nvme4=None)
    node.wait(15)
    node.put("Pcie", "devices", **{"1b.0": None})


@healthy(node=_on_lent_volumes)
def volume_moves_to_another_node(node: Story) -> None:
    """A pod is scheduled elsewhere: its volume is unmounted and detached."""
    node.wait(120)
    node.put("Filesystems", "filesystems", **{"/var/lib/kubelet/plugins/ebs/pvc-1": None})
    node.log("EXT4-fs (nvme4n1): unmounting filesystem 2c1e.")
    node.wait(30)
    _detached(node)
    node.wait(3600, 60)


@incident(
    "filesystem_shutdown@/data",
    root=("filesystem_shutdown@/data|disk_io_errors@nvme1n1",),
    may=(*STARVED, "disk_io_errors", "nvme_controller_failed", "filesystem_error"),
    unfit=True,
    fit_at_end=False,
    node=_on_lent_volumes,
)
def volume_is_detached_by_force_under_its_filesystem(node: Story) -> None:
    """A volume is taken away while it is mounted: requests fail, and XFS shuts down."""
    node.wait(120)
    node.log(
        write_failed("nvme1n1", 4096),
        "XFS (nvme1n1): log I/O error -5",
        "XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).",
    )
    node.put("Disks", "disks", nvme1n1=None)
    node.put("NvmeControllers", "controllers", nvme1=None)
    node.put("Pcie", "devices", **{"5f": None})
    node.wait(1800, 60)


def _fills(node: Story, place: str, left_ratio: float) -> None:
    """Four percent of a filesystem are left, then less; after an hour somebody cleans up."""
    node.wait(60)
    for ratio in (0.04, left_ratio):
        available = int(ratio * 10**12)
        node.put("Filesystems", "filesystems", place, available_bytes=available)
        node.wait(1800, 60)
    node.put("Filesystems", "filesystems", place, available_bytes=4 * 10**11)
    node.wait(900, 60)


@incident("filesystem_full@/home", unfit=False, gone=("filesystem_full",), node=processors_only)
def server_of_all_homes_is_full(node: Story) -> None:
    """A server of NFS has a hundredth left: no node of the cluster is to blame."""
    _fills(node, "/home", 0.01)


@incident("filesystem_full@/data", unfit=False, gone=("filesystem_full",))
def scratch_of_a_job_is_full(node: Story) -> None:
    """Checkpoints fill the disk for data to its last gigabyte."""
    _fills(node, "/data", 0.001)


@incident(
    "filesystem_full@/",
    unfit=True,
    gone=("filesystem_full",),
    fit_at_end=True,
    node=_on_lent_volumes,
)
def logs_fill_the_root_of_a_worker(node: Story) -> None:
    """Two percent of the root are left."""
    _fills(node, "/", 0.02)


def _with_containers_apart() -> Tree:
    """A node whose images and containers have a disk of their own."""
    node = processors_only()
    place = "/var/lib/containerd"
    node["Filesystems"]["filesystems"][place] = filesystem("/dev/nvme1n1p2", place, "xfs")
    return node


@incident(
    "filesystem_full@/var/lib/containerd",
    unfit=True,
    gone=("filesystem_full",),
    fit_at_end=True,
    node=_with_containers_apart,
)
def images_fill_their_disk(node: Story) -> None:
    """No image can be pulled any more."""
    _fills(node, "/var/lib/containerd", 0.01)


@incident(
    "filesystem_full@/var/lib/kubelet/plugins/ebs/pvc-1",
    unfit=False,
    gone=("filesystem_full",),
    node=_on_lent_volumes,
)
def volume_of_a_pod_is_full(node: Story) -> None:
    """One pod has filled its volume; the others work."""
    _fills(node, "/var/lib/kubelet/plugins/ebs/pvc-1", 0.01)


CASES = (
    fault_of_a_copy_engine_ends_uvm,
    uvm_works_again_with_the_driver,
    lost_card_takes_uvm_with_it,
    uvm_is_loaded_and_unloaded,
    worker_of_a_processor_is_stuck,
    guest_is_paused_for_half_a_minute,
    raid_adapter_is_reset_after_a_timeout,
    reset_of_a_raid_adapter_fails,
    volume_of_a_raid_adapter_lost_a_disk,
    volume_of_a_raid_adapter_is_rebuilt,
    raid_adapter_reports_its_routine,
    volume_moves_to_another_node,
    volume_is_detached_by_force_under_its_filesystem,
    server_of_all_homes_is_full,
    scratch_of_a_job_is_full,
    logs_fill_the_root_of_a_worker,
    images_fill_their_disk,
    volume_of_a_pod_is_full,
)
