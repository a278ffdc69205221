"""Every known message of the kernel makes its one event, and nothing else makes one."""

import pytest

from tests.collectors.kernel_log.feeding import events_of
from tests.collectors.kernel_log.lines import MESSAGES, QUIET, KernelMessage

HEAD = "[Hardware Error]:"


def _told(message: KernelMessage) -> KernelMessage:
    """The message with what is told of its one event; of the fields those that it names."""
    events = events_of(*message.records)
    assert len(events) == 1, message
    (event,) = events
    return KernelMessage(
        records=message.records,
        kind=event.kind,
        about=f"{event.entity_type} {event.entity_id}",
        fields={name: event.fields.get(name) for name in message.fields},
    )


@pytest.mark.parametrize("collector", MESSAGES)
def test_a_message_is_one_event(collector: str) -> None:
    """Of one line or of several, in the words of any version, about what the lines name."""
    messages = MESSAGES[collector]
    assert [(told, each) for each in messages if (told := _told(each)) != each] == []


@pytest.mark.parametrize("collector", QUIET)
def test_a_quiet_line_is_no_event(collector: str) -> None:
    """Notices, recoveries, idle connections, and parts of messages without their head."""
    assert [line for line in QUIET[collector] if events_of(line) != ()] == []


def test_what_is_about_two_things_is_two_events() -> None:
    """GPUs that time out together, GPUs that are lost, and records of the firmware."""
    ring = "amdgpu 0000:{}:00.0: amdgpu: ring gfx timeout, signaled seq=1, emitted seq=3"
    reset = "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!. Source:  1"
    events = events_of(ring.format("03"), ring.format("23"), reset)
    assert [event.entity_id for event in events] == ["0000:03:00.0", "0000:23:00.0"]
    lost = "NVRM: GPU 0000:{}:00.0: GPU has fallen off the bus."
    serial = "NVRM: GPU 0000:5e:00.0: GPU serial number is 7."
    events = events_of(lost.format("3b"), lost.format("5e"), serial)
    assert [event.fields.get("serial") for event in events] == [None, "7"]
    firmware = [
        line
        for number, severity in ((7, "corrected"), (8, "fatal"))
        for line in (
            f"{{{number}}}{HEAD} Hardware error from APEI Generic Hardware Error Source: 4",
            f"{{{number}}}{HEAD} event severity: {severity}",
        )
    ]
    events = events_of(*firmware)
    assert [event.fields["severity"] for event in events] == ["corrected", "fatal"]


def test_a_lost_gpu_that_is_said_twice_is_one_event() -> None:
    """The short and the long form within five seconds, also when others print between them."""
    lines = (
        "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
        "NVRM: GPU 0000:3b:00.0: GPU serial number is 1320000000001.",
        "NVRM: The NVIDIA GPU 0000:3b:00.0",
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    )
    assert [event.kind for event in events_of(*lines, apart_secs=0.5)] == ["gpu_lost"]


def test_each_error_of_a_burst_is_an_event() -> None:
    """A second head, or a second body, begins a second event."""
    head = "pcieport 0000:3a:00.0: AER: Corrected error message received from 0000:3b:00.0"
    body = (
        "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
        "(Receiver ID)"
    )
    assert len(events_of(head, body, head, body)) == 2
    assert len(events_of(head, body, body)) == 2


def test_each_victim_is_an_event() -> None:
    """A group kill names several processes: the decision belongs to its own victim only.

    A kill that is said after its decision was published is not counted twice.
    """
    decision = (
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,"
        "global_oom,task_memcg=/a,task=trainer,pid=4711,uid=0"
    )
    kill = "Out of memory: Killed process 4711 (trainer) total-vm:1kB, anon-rss:2kB, file-rss:0kB"
    events = events_of(decision, kill, kill.replace("4711", "4712"))
    assert [event.pid for event in events] == [4711, 4712]
    assert len(events_of(decision, "Kernel panic - not syncing: x", kill)) == 2
