"""Records in, events and counters out."""

import json

import pytest

from exporter.collectors.kernel_log.checkpoint import Position, Saved, decode, dump_state
from exporter.collectors.kernel_log.record import Record, parse_kmsg
from exporter.model.event import EventType
from tests.collectors.kernel_log.feeding import BOOTTIME, WALL, pipeline, record

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus."


def test_an_event_has_its_own_time_type_and_evidence() -> None:
    """A record from before we started is real, with the time it was printed at."""
    taker = pipeline()
    taker.take(record(XID, stamp=4_000.0))
    (event,) = taker.counters.ring.events()
    assert (event.at, event.boottime) == (WALL - 1_000.0, 4_000.0)
    assert (event.type, event.source, event.number) == (EventType.ERROR_HW, "kernel_log", 1)
    assert (event.pid, event.raw) == (4711, XID)


def test_for_drills_records_of_programs_are_believed() -> None:
    """With the switch on, the same record is an event."""
    taker = pipeline(accept_user_records=True)
    taker.take(record(XID, prefix=11))
    assert taker.counters.kinds == {"xid": 1}
    assert not taker.counters.rejected


def test_gaps_in_the_sequence_are_lost_records() -> None:
    """Each missing number is one record; a sequence that starts again is no loss."""
    taker = pipeline()
    for sequence in (10, 11, 15, 16, 3, 4):
        taker.take(record("nothing", sequence=sequence))
    assert taker.counters.lost == 3


def test_what_the_kernel_left_out_is_counted() -> None:
    """Suppressed lines are a number of their own."""
    taker = pipeline()
    taker.take(record("net_ratelimit: 25 callbacks suppressed"))
    taker.take(record("printk: 12 output lines suppressed due to ratelimiting"))
    assert taker.counters.suppressed == 37
    assert taker.counters.ring.events() == ()


def test_xids_are_counted_by_gpu_and_code() -> None:
    """Recovery actions are Xids too; endings of other kinds are not counted."""
    taker = pipeline()
    taker.take(record(XID))
    taker.take(record(XID, stamp=200.0))
    taker.take(
        record("NVRM: Xid (PCI:0000:5e:00): 154, GPU recovery action changed from 0x0 to 0x1")
    )
    taker.take(record("nfs: server a OK"))
    log = taker.counters.as_value("kmsg", "ok")
    assert [(xid.gpu, xid.code, xid.count) for xid in log.xids] == [
        ("0000:3b:00.0", 79, 2),
        ("0000:5e:00.0", 154, 1),
    ]
    assert log.kinds == (("gpu_recovery_action", 1), ("xid", 2))
    assert log.types == (("error.hw", 3),)
    assert log.xids[0].last_at == WALL - BOOTTIME + 200.0


def test_names_of_gpus_are_learned() -> None:
    """The driver says once which UUID a PCI address is."""
    taker = pipeline()
    uuid = "GPU-0a1b2c3d-1111-2222-3333-444455556666"
    taker.take(record(f"NVRM: GPU at PCI:0000:3b:00: {uuid}"))
    taker.settle()
    assert taker.counters.as_value("kmsg", "ok").gpu_uuids == (("0000:3b:00.0", uuid),)


def test_the_raw_line_is_kept_up_to_512_bytes() -> None:
    """Evidence is bounded, and free of control characters."""
    taker = pipeline()
    taker.take(record("NVRM: Xid (PCI:0000:3b:00): 13, \x1b[31m" + "ü" * 1000))
    taker.settle()
    (event,) = taker.counters.ring.events()
    assert len(event.raw.encode()) <= 512
    assert "\x1b" not in event.raw


def test_a_clock_that_was_set_right_is_left_alone_until_it_is_off_again() -> None:
    """Half a second more than was learned is the time that reading takes."""
    taker = pipeline()
    for behind in (10.0, 10.5, 20.0):
        taker.caught_up()
        taker.take(record(XID, stamp=BOOTTIME - behind))
    moments = [event.boottime for event in taker.counters.ring.events()]
    assert moments == [BOOTTIME, BOOTTIME - 0.5, BOOTTIME]


def saved_after(*sequences: int) -> Saved:
    """What a process leaves that had read an Xid in each of these records."""
    taker = pipeline()
    for sequence in sequences:
        taker.take(record(XID, sequence=sequence, stamp=sequence * 10.0))
    assert taker.position is not None
    return decode(json.loads(dump_state("boot", taker.position, taker.counters)))


def test_what_the_kernel_left_out_is_not_counted_again() -> None:
    """Neither is what is no record, nor what a program wrote."""
    taker = pipeline(saved=saved_after(1, 2, 3))
    taker.take(record("net_ratelimit: 25 callbacks suppressed", sequence=2, stamp=20.0))
    taker.take(record(XID, sequence=3, stamp=30.0, prefix=12))
    assert (taker.counters.suppressed, dict(taker.counters.rejected)) == (0, {})
    taker.take(record("net_ratelimit: 25 callbacks suppressed", sequence=4, stamp=40.0))
    assert taker.counters.suppressed == 25


def test_events_of_history_are_never_numbered_as_new() -> None:
    """While the history is being read they have no number yet; then they have those of then."""
    taker = pipeline(saved=saved_after(1, 2, 3))
    taker.take(record(XID, sequence=2, stamp=20.0))
    taker.take(record(XID, sequence=3, stamp=30.0))
    assert taker.counters.as_value("kmsg", "ok").events == ()
    taker.caught_up()
    log = taker.counters.as_value("kmsg", "ok")
    assert [event.number for event in log.events] == [2, 3]
    assert (log.first_new_number, log.kinds) == (4, (("xid", 3),))


def test_what_is_saved_within_the_history_is_what_was_there() -> None:
    """A process that ends while it reads the history again leaves the file as it found it."""
    saved = saved_after(1, 2, 3)
    text = dump_state("boot", saved.position, saved.counters)
    taker = pipeline(saved=saved)
    for sequence in (1, 2, 3):
        taker.take(record(XID, sequence=sequence, stamp=sequence * 10.0))
        assert taker.is_in_history
        assert taker.position is not None
        assert dump_state("boot", taker.position, taker.counters) == text


def test_what_was_overwritten_while_we_were_away_is_lost() -> None:
    """The gap between the last record of then and the first of now is counted."""
    taker = pipeline(saved=saved_after(1, 2, 3))
    taker.take(record(XID, sequence=10, stamp=100.0))
    assert taker.counters.lost == 6


def test_an_empty_log_ends_the_history() -> None:
    """When all there is was read before, what comes next is new, whatever its sequence."""
    taker = pipeline(saved=saved_after(1, 2, 3))
    taker.caught_up()
    taker.take(record(XID, sequence=1, stamp=500.0))
    assert taker.counters.kinds == {"xid": 4}


def test_a_position_without_sequence_is_a_time() -> None:
    """State written under syslog(2) serves /dev/kmsg and the other way round."""
    assert Position(None, 50.0).covers(7, 50.0)
    assert not Position(None, 50.0).covers(7, 50.1)
    assert Position(7, 50.0).covers(None, 50.0)
    assert Position(7, 50.0).covers(7, 99.0)
    taker = pipeline(saved=Saved(Position(None, 50.0), pipeline().counters))
    taker.take(Record(4, None, 50.0, XID.encode()))
    taker.take(Record(4, None, 51.0, XID.encode()))
    assert taker.counters.kinds == {"xid": 1}


@pytest.mark.parametrize(("drift", "is_set_right"), [(0.9, False), (1.1, True), (10.0, True)])
def test_a_clock_that_is_off_by_more_than_a_second_is_set_right(
    drift: float,
    is_set_right: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """A short suspension moves the clock of prints by seconds; less than one is left alone."""
    taker = pipeline()
    taker.caught_up()
    taker.take(record(XID, stamp=BOOTTIME - drift))
    (event,) = taker.counters.ring.events()
    assert event.boottime == (BOOTTIME if is_set_right else BOOTTIME - drift)


XID_AGAIN = XID.replace("79", "48")
CUTS = (
    # The places where the kernel prints the name of a control group apart (pr_cont_cgroup_name).
    ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=",),
    ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)", ",cpuset="),
    ("a: page allocation failure: order:0, mode:0x40cc0(GFP_KERNEL), nodemask=(null),cpuset=",),
    ("a: page allocation failure: order:0, mode:0x40cc0(GFP_KERNEL), nodemask=(null)", ",cpuset="),
    ("a: vmalloc error: size 4096, mode:0xcc0(GFP_KERNEL), nodemask=(null),cpuset=",),
    ("a cpuset=",),
)


def raw(text: str, stamp: float, flag: str = "c", sequence: int = 1) -> Record:
    """A record with this flag."""
    parsed = parse_kmsg(f"4,{sequence},{int(stamp * 1e6)},{flag};{text}\n".encode())
    assert parsed is not None
    return parsed


@pytest.mark.parametrize("flag", ["c", "+"])
@pytest.mark.parametrize("pieces", CUTS, ids=str)
def test_the_name_of_a_group_is_no_line_where_another_print_came_between(
    pieces: tuple[str, ...], flag: str
) -> None:
    """The kernel prints some messages in pieces; interrupted, the name of a group stands alone.

    Until its message is complete, a continuation makes no event and is counted; a record that is
    none makes one. The driver's continuations after that are believed.
    """
    taker = pipeline()
    for index, piece in enumerate(pieces):
        taker.take(raw(piece, 100.0 + index / 1e5, flag if index else "-"))
    taker.take(raw(XID_AGAIN, 100.0001, "-"))
    taker.take(raw(XID, 109.0, flag))
    assert [xid.code for xid in taker.counters.xids.values()] == [48]
    assert taker.counters.rejected == {"fragment": 1}
    taker.take(raw(",mems_allowed=0-1,global_oom,task=a,pid=1,uid=0", 109.1, flag))
    taker.take(raw(XID, 109.2, flag))
    assert [xid.code for xid in taker.counters.xids.values()] == [48, 79]
    assert taker.counters.rejected == {"fragment": 1}


def test_a_name_in_one_record_with_the_rest_of_its_message_is_no_line() -> None:
    """Interrupted before the name only, the record of the name ends the message."""
    taker = pipeline()
    taker.take(raw(CUTS[0][0], 100.0, "-"))
    taker.take(raw(f"{XID},mems_allowed=0", 100.1))
    taker.take(raw(XID_AGAIN, 100.2))
    assert [xid.code for xid in taker.counters.xids.values()] == [48]


def test_where_a_cut_message_may_be_lost_no_continuation_is_believed() -> None:
    """A gap in the numbers may have been the beginning of the message."""
    taker = pipeline()
    taker.take(raw("quiet", 100.0, "-", sequence=1))
    taker.take(raw(XID, 100.1, sequence=3))
    assert dict(taker.counters.kinds) == {}
    taker.take(raw(XID, 101.2, sequence=4))
    assert dict(taker.counters.kinds) == {"xid": 1}
    assert taker.counters.rejected == {"fragment": 1}


@pytest.mark.parametrize("flag", ["c", "-"])
def test_whole_lines_of_the_driver_are_believed_as_it_marks_them(flag: str) -> None:
    """The NVIDIA driver prints each line as a continuation of nothing."""
    taker = pipeline()
    taker.take(raw(XID, 100.0, flag))
    assert dict(taker.counters.kinds) == {"xid": 1}
    assert taker.counters.rejected == {}


@pytest.mark.parametrize("pieces", CUTS, ids=str)
def test_with_syslog_nothing_is_believed_after_an_interrupted_message(
    pieces: tuple[str, ...],
) -> None:
    """syslog(2) does not mark continuations: what follows within a second may be one."""
    taker = pipeline()
    for index, piece in enumerate((*pieces, XID)):
        taker.take(Record(4, None, 100.0 + index / 1e5, piece.encode(), is_continuation=True))
    assert dict(taker.counters.kinds) == {}
    assert taker.counters.rejected == {"fragment": 1}
    taker.take(Record(4, None, 101.1, XID.encode(), is_continuation=True))
    assert dict(taker.counters.kinds) == {"xid": 1}


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:3b:00): 13, Graphics SM Warp Exception on (GPC 1, TPC 4, SM 0)",
        "amdgpu 0000:3b:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=73, emitted seq=75",
    ],
    ids=["exception", "ring"],
)
def test_what_waits_for_further_lines_is_not_hidden_by_other_lines(text: str) -> None:
    """Lines that mean nothing may come so fast that the log never rests."""
    taker = pipeline()
    taker.take(raw(text, 100.0))
    assert taker.is_holding
    for number in range(12):
        taker.take(raw("quiet", 100.1 + number / 10, "-", sequence=2 + number))
    assert taker.counters.number == 1
    assert not taker.is_holding


NAMES_LIKE_CUTS = (
    "veth1: renamed from cpuset=",
    "a: renamed from cpuset=",
    "a: renamed from ,cpuset=",
    "cgroup: fork rejected by pids controller in /pod/a,cpuset=",
    "cgroup: fork rejected by pids controller in /a: mode:0x1(G), nodemask=(null),cpuset=",
    "cgroup: fork rejected by pids controller in /pod/a,task_memcg=",
    "[   4711]  1000  4711    12345      678    77824        0           985 a,oom_memcg=",
    "[   4711]  1000  4711    12345      678    77824        0           985 one of ",
)


@pytest.mark.parametrize("sequence", [1, None], ids=["kmsg", "syslog"])
@pytest.mark.parametrize("text", NAMES_LIKE_CUTS)
def test_a_name_cannot_hide_lines_of_the_driver(text: str, sequence: int | None) -> None:
    """The record after a name like the end of an interrupted message is read as ever."""
    taker = pipeline()
    is_syslog = sequence is None
    taker.take(Record(6, sequence, 100.0, text.encode(), is_continuation=is_syslog))
    taker.take(Record(4, sequence and 2, 100.00001, XID.encode(), is_continuation=True))
    assert dict(taker.counters.kinds) == {"xid": 1}
