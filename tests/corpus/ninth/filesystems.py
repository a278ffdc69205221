"""Incidents of filesystems of other servers, and of local ones that are full."""

from tests.corpus.fifth.nodes import storage_server
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import HOUR, delta_a100s, hpc_worker, waits, works
from tests.corpus.seventh.nodes import SPINS, hgx
from tests.corpus.story import Story
from tests.corpus.words import STARVED

REMOTE = (*STARVED, *SPINS, "nfs_server_stalled", "network_filesystem_stalled", "nfs_locks_lost")


@incident(
    "nfs_server_stalled@192.0.2.10",
    may=REMOTE,
    gone=("nfs_server_stalled", "filesystem_stuck"),
    fit_at_end=True,
    node=hpc_worker,
)
def filer_is_away_for_its_upgrade(node: Story) -> None:
    """The server of the homes does not answer for twenty minutes, then it is OK again."""
    node.wait(300, 60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.put("Filesystems", "filesystems", "/home", unreachable=True, size_bytes=None)
    node.put("Cpu", processes_blocked=38)
    node.wait(180, 30)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.wait(1020, 60)
    node.log("nfs: server 192.0.2.10 OK", "nfs: server 192.0.2.10 OK")
    node.put("Filesystems", "filesystems", "/home", unreachable=False, size_bytes=10**12)
    node.put("Cpu", processes_blocked=0)
    node.wait(HOUR, 60)


@incident(
    "network_filesystem_stalled@*",
    may=(*REMOTE, "hung_task"),
    gone=("network_filesystem_stalled",),
    fit_at_end=True,
    node=delta_a100s,
)
def target_of_the_scratch_fails_over(node: Story) -> None:
    """A target of Lustre is lost, fails over to another server, and is restored in ten minutes."""
    node.wait(300, 60)
    node.log(
        "Lustre: 2811:0:(client.c:2310:ptlrpc_expire_one_request()) @@@ Request sent has timed out "
        "for slow reply: [sent 1732180101/real 1732180101]  req@00000000f1a2 x1814/t0(0) o4->"
        "scratch-OST001c-osc-ffff9a41@192.0.2.75@o2ib:6/4 lens 488/448 e 0 to 1 dl 1732180108 "
        "ref 2 fl Rpc:XQr/0/ffffffff rc 0/-1 job:'lmp.4711'",
        "Lustre: scratch-OST001c-osc-ffff9a41: Connection to scratch-OST001c (at 192.0.2.75@o2ib) "
        "was lost; in progress operations using this service will wait for recovery to complete",
    )
    node.process(4711, state="uninterruptible", waits_since_boottime=node.at)
    waits(node, watts=88.0)
    node.wait(600, 30)
    node.log(
        "Lustre: scratch-OST001c-osc-ffff9a41: Connection restored to 192.0.2.76@o2ib (at "
        "192.0.2.76@o2ib)"
    )
    node.process(4711, state="running", waits_since_boottime=None)
    works(node, watts=318.0, heat=54.0)
    node.wait(HOUR, 60)


@incident(
    "filesystem_full@/data",
    may=("filesystem_files_low",),
    gone=("filesystem_full",),
    fit_at_end=True,
    node=hgx,
)
def checkpoints_fill_the_local_disk(node: Story) -> None:
    """Each checkpoint takes a tenth; at last two percent are left, and old ones are removed."""
    for left in (400, 300, 200, 100, 40, 20):
        node.put(
            "Filesystems",
            "filesystems",
            "/data",
            available_bytes=left * 10**9,
            free_bytes=left * 10**9,
        )
        node.wait(900, 60)
    node.wait(1800, 60)
    node.put("Filesystems", "filesystems", "/data", available_bytes=6 * 10**11)
    node.put("Filesystems", "filesystems", "/data", free_bytes=6 * 10**11)
    node.wait(HOUR, 120)


@incident("filesystem_files_low@/data", unfit=False, fit_at_end=True, node=storage_server)
def cache_of_packages_takes_all_inodes(node: Story) -> None:
    """Millions of small files: two percent of the inodes are left, and half of the bytes."""
    for left in (40, 20, 8, 2):
        node.put("Filesystems", "filesystems", "/data", files_free=left * 10**5)
        node.wait(1200, 120)
    node.wait(2 * HOUR, 240)


CASES = (
    filer_is_away_for_its_upgrade,
    target_of_the_scratch_fails_over,
    checkpoints_fill_the_local_disk,
    cache_of_packages_takes_all_inodes,
)
