"""Lines about the servers of network filesystems."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event

NODE = ("node", "")
LUSTRE = "Lustre: lfs-OST0001-osc-ffff88203810d800: "

CASES: tuple[Case, ...] = (
    (
        "lustre_not_responding",
        NODE,
        {"target": "lfs-OST0001", "server": "10.0.0.1@o2ib", "ended": None},
        LUSTRE + "Connection to lfs-OST0001 (at 10.0.0.1@o2ib) was lost; in progress operations "
        "using this service will wait for recovery to complete",
    ),
    (
        "lustre_not_responding",
        NODE,
        {"server": "10.0.0.1@o2ib", "ended": "yes"},
        LUSTRE + "Connection restored to 10.0.0.1@o2ib (at 10.0.0.1@o2ib)",
    ),
    (
        "lustre_not_responding",
        NODE,
        {"target": "lfs-OST0001", "state": "was evicted"},
        (
            "LustreError: 167-0: lfs-OST0001-osc-ffff88203810d800: This client was evicted by "
            "lfs-OST0001; in progress operations using this service will fail."
        ),
    ),
    (
        "lustre_not_responding",
        NODE,
        {"target": "lfs-MDT0000", "state": "was evicted"},
        LUSTRE + "This client was evicted by lfs-MDT0000; in progress operations using this "
        "service will fail.",
    ),
    (
        "lustre_not_responding",
        NODE,
        {"target": "lfs-OST0001"},
        (
            "LustreError: lfs-OST0001-osc-ffff88203810d800: This client was evicted by "
            "lfs-OST0001; in progress operations using this service will fail."
        ),
    ),
    (
        "lustre_not_responding",
        NODE,
        {"server": "10.0.1.5@tcp", "ended": "yes"},
        LUSTRE + "Connection restored to  (at 10.0.1.5@tcp)",
    ),
    (
        "ceph_not_responding",
        NODE,
        {
            "daemon": "mon0",
            "server": "(1)10.0.0.5:6789",
            "state": "session lost, hunting for new mon",
        },
        "libceph: mon0 (1)10.0.0.5:6789 session lost, hunting for new mon",
    ),
    ("ceph_not_responding", NODE, {"daemon": "osd12", "state": "down"}, "libceph: osd12 down"),
    ("ceph_not_responding", NODE, {"daemon": "osd12", "ended": "yes"}, "libceph: osd12 up"),
    ("ceph_not_responding", NODE, {"daemon": "mds0", "state": "hung"}, "ceph: mds0 hung"),
    (
        "ceph_not_responding",
        NODE,
        {"daemon": "mds0", "ended": "yes"},
        "ceph: mds0 recovery completed",
    ),
    (
        "cifs_not_responding",
        NODE,
        {"server": "files.example", "seconds": "180"},
        r"CIFS: VFS: \\files.example has not responded in 180 seconds. Reconnecting...",
    ),
    (
        "cifs_not_responding",
        NODE,
        {"server": "files.example"},
        "CIFS VFS: Server files.example has not responded in 120 seconds. Reconnecting...",
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_a_server_that_stalls_or_answers_again_is_one_event(case: Case) -> None:
    """Each filesystem's own words give one event with the server in it."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        "libceph: osd3 (1)10.0.0.5:6801 socket closed (con state OPEN)",
        "libceph: client4213 fsid 0a1b2c3d-1111-2222-3333-444455556666",
        "Lustre: Mounted lfs-client",
        "Lustre: 2449:0:(client.c:2141:ptlrpc_expire_one_request()) Skipped 24 previous similar",
        r"CIFS: Attempting to mount \\files.example\share",
    ],
)
def test_other_words_of_network_filesystems_are_no_event(line: str) -> None:
    """Idle connections, mounts and summaries say nothing."""
    assert events_of(line) == ()
