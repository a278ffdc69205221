"""Incidents that a large fleet sees every week."""

from tests.corpus.fifth.nodes import loads, unloads
from tests.corpus.labels import incident
from tests.corpus.parts import Tree
from tests.corpus.seventh.nodes import (
    EIGHT,
    SPINS,
    altra,
    disk_shelf,
    epyc,
    guest,
    hgx,
    pro_6000s,
    rests,
)
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER, STARVED

HOURS = 2 * 3600
POD = "/kubepods/burstable/pod5e0d7c2a-9f31-4d0e-8b1c-3a2b1c0d9e8f"


def _fabric_waits() -> Tree:
    tree = hgx()
    for state in tree["Gpus"]["states"].values():
        state["gpu"] |= {"fabric_state": "not_started", "fabric_healthy": None}
    return tree


@incident(
    *(f"fabric_not_ready@GPU-{bus}" for bus in EIGHT),
    root=("fabric_not_ready@*",),
    may=SPINS,
    unfit=True,
    lasts=("fabric_not_ready",),
    fit_at_end=False,
    node=hgx,
)
def fabric_manager_is_of_another_version(node: Story) -> None:
    """After an upgrade to 550.163 the fabric manager is still of 550.127: it does not start."""
    node.wait(60)
    rests(node)
    node.wait(120, 30)
    unloads(node, 60)
    loads(node, _fabric_waits)
    rests(node)
    node.wait(3600, 60)


@incident(
    "gpu_reset_required@GPU-c2",
    may=GPU_AFTER,
    unfit=True,
    gone=("gpu_reset_required",),
    fit_at_end=True,
    node=pro_6000s,
)
def card_asks_for_a_reset_until_its_node_is_drained(node: Story) -> None:
    """One of four cards refuses new work; two hours later the node is drained and it is reset."""
    node.wait(300, 60)
    node.lose("c2", "reset_required")
    node.wait(HOURS, 120)
    rests(node)
    node.wait(120, 30)
    node.state("c2", up=True, reason=None, stale=False)
    node.gpu("c2", energy_joules_total=7.0)
    node.wait(1800, 60)


@incident(
    "nvme_timeout@nvme0n1",
    may=STARVED,
    unfit=False,
    gone=("nvme_timeout",),
    fit_at_end=True,
    node=epyc,
)
def power_saving_of_a_disk_costs_commands(node: Story) -> None:
    """Four commands of a disk time out within ten minutes; aborts succeed, and then all is well."""
    node.wait(60)
    for tag in (12, 13, 804, 805):
        node.log(
            f"nvme nvme0: I/O tag {tag} (b00c) opcode 0x2 (I/O Cmd) QID 7 timeout, aborting "
            "req_op:READ(0) size:4096",
            "nvme nvme0: Abort status: 0x0",
        )
        node.wait(150, 30)
    node.wait(3 * 3600, 300)


@incident(
    "disk_link_errors@*",
    may=(*STARVED, "disk_io_errors"),
    unfit=False,
    fit_at_end=True,
    node=disk_shelf,
)
def cable_of_a_boot_disk_is_loose(node: Story) -> None:
    """The link of a SATA disk breaks and is trained again seven times within ten minutes."""
    node.wait(60)
    for number in range(7):
        node.log(
            "ata2.00: exception Emask 0x50 SAct 0x40 SErr 0x4890800 action 0xe frozen",
            "ata2.00: irq_stat 0x0c400040, interface fatal error, connection status changed",
            "ata2: SError: { HostInt PHYRdyChg 10B8B LinkSeq DevExch }",
            "ata2.00: failed command: WRITE FPDMA QUEUED",
            f"ata2.00: cmd 61/08:30:00:{number:02x}:10/00:00:00:00:00/40 tag 6 ncq dma 4096 out",
            "ata2.00: status: { DRDY }",
            "ata2: hard resetting link",
            "ata2: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
            "ata2.00: configured for UDMA/133",
            "ata2: EH complete",
        )
        node.wait(85, 15)


@incident(
    *("disk_offline@sdb", "filesystem_readonly@/srv/b"),
    root=("disk_offline@sdb|disk_io_errors@sdb",),
    may=(*STARVED, "disk_io_errors", "filesystem_error", "filesystem_shutdown"),
    unfit=True,
    lasts=("disk_offline@sdb", "filesystem_readonly@/srv/b"),
    fit_at_end=False,
    node=disk_shelf,
)
def disk_is_taken_offline_under_its_filesystem(node: Story) -> None:
    """Recovery of a SAS disk fails: it is offline, writes are refused, ext4 becomes read-only."""
    node.wait(60)
    node.log(
        "sd 7:0:1:0: device reset: FAILED scmd(0x0000000071e0c8d1)",
        "sd 7:0:1:0: Device offlined - not ready after error recovery",
        "sd 7:0:1:0: [sdb] tag#71 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK "
        "cmd_age=182s",
        "I/O error, dev sdb, sector 17825792 op 0x1:(WRITE) flags 0x4800 phys_seg 128 prio class 2",
        "sd 7:0:1:0: rejecting I/O to offline device",
    )
    node.put("Disks", "disks", "sdb", scsi_state="offline")
    node.wait(10, 5)
    node.log(
        "Buffer I/O error on dev sdb1, logical block 0, lost sync page write",
        "EXT4-fs error (device sdb1): ext4_journal_check_start:84: comm rsync: Detected aborted "
        "journal",
        "EXT4-fs (sdb1): Remounting filesystem read-only",
    )
    node.put("Filesystems", "filesystems", "/srv/b", readonly=True)
    node.wait(HOURS, 120)


@incident("conntrack_full@node", may=("tcp_retransmit_burst",), unfit=False, node=guest)
def gateway_runs_out_of_connections(node: Story) -> None:
    """The table of connections is full for half an hour, and packets are dropped."""
    node.wait(60)
    node.put("NetworkStack", conntrack_entries=261_900)
    for _ in range(6):
        node.log("nf_conntrack: nf_conntrack: table full, dropping packet")
        node.wait(300, 30)


@incident(
    *("pod_oom_loop@*", "pod_oom_kill@*"),
    root=("pod_oom_loop@*|pod_oom_kill@*|process_oom_kill@*",),
    may=("process_oom_kill",),
    never=("node_oom_kill",),
    unfit=False,
    node=altra,
)
def limit_of_a_service_is_too_small(node: Story) -> None:
    """A service is killed at the limit of its pod six times within the hour."""
    node.wait(60)
    for number in range(6):
        pid = 41_000 + 611 * number
        node.log(
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=7f0c2a,mems_allowed=0,"
            f"oom_memcg={POD}/7f0c2a,task_memcg={POD}/7f0c2a,task=node,pid={pid},uid=1000",
            f"Memory cgroup out of memory: Killed process {pid} (node) total-vm:2411724kB, "
            "anon-rss:1046528kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:5240kB "
            "oom_score_adj:983",
        )
        node.put("Paging", oom_kills=number + 1)
        node.wait(540, 60)


@incident("rcu_stall@node", may=("cpu_lockup", "cpu_saturated"), node=guest)
def hypervisor_is_overbooked(node: Story) -> None:
    """Virtual processors do not run for half a minute, again and again: the kernel complains."""
    node.wait(60)
    for secs in (21, 63, 84):
        node.log(
            "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
            f"rcu: \t3-...!: (1 GPs behind) idle=9c4c/0/0x1 softirq=88112/88113 fqs={secs}",
            f"\t(detected by 1, t={250 * secs} jiffies, g=190225, q=812 ncpus=8)",
        )
        node.wait(120, 30)
    node.wait(600, 30)


@incident(
    *("hung_task@1420", "hung_task@90211"),
    root=("hung_task@*",),
    may=STARVED,
    unfit=False,
    node=epyc,
)
def journal_of_a_disk_blocks_its_writers(node: Story) -> None:
    """The thread of a journal and a writer behind it are blocked for four minutes."""
    node.wait(60)
    for secs in (120, 241):
        for name, pid in (("jbd2/nvme0n1p2-", 1420), ("rsyslogd", 90211)):
            node.log(
                f"INFO: task {name}:{pid} blocked for more than {secs} seconds.",
                "      Not tainted 6.1.0-28-amd64 #1 Debian 6.1.119-1",
                '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
            )
        node.wait(121, 30)


CASES = (
    fabric_manager_is_of_another_version,
    card_asks_for_a_reset_until_its_node_is_drained,
    power_saving_of_a_disk_costs_commands,
    cable_of_a_boot_disk_is_loose,
    disk_is_taken_offline_under_its_filesystem,
    gateway_runs_out_of_connections,
    limit_of_a_service_is_too_small,
    hypervisor_is_overbooked,
    journal_of_a_disk_blocks_its_writers,
)
