"""Recordings of snapshots: what they become, and what is said of mistakes in them."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from exporter.collectors import recorded_nodes
from exporter.collectors.disk.values import Disks
from exporter.collectors.everything import EVERYTHING, rule_book
from exporter.collectors.gpu.values import Gpus
from exporter.collectors.kernel_log.values import KernelLog
from exporter.collectors.network.values import Network
from exporter.collectors.workloads.values import Workloads
from exporter.commands.rules import changes, changes_as_json, replayed
from exporter.faults.replay.snapshots import START_BOOTTIME, BadRecording, SnapshotReader
from exporter.faults.replay.steps import base_nodes
from exporter.model.snapshot import Outcome, Snapshot

LOG = {"source": "kmsg", "reason": "ok", "records": 1, "lost": 0, "suppressed": 0}
GPU = {"index": 0, "uuid": "GPU-a", "name": "H100", "pci_bus_id": "00000000:3B:00.0"}
GPUS = {"backend": {"backend": "nvml", "reason": "ok"}, "states": {"a": {"gpu": GPU}}}
FELL = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."


def read(*rows: dict[str, Any] | str) -> list[Snapshot]:
    """The snapshots of these rows."""
    return list(SnapshotReader(EVERYTHING.recordings).snapshots(_lines(rows)))


def _lines(rows: Iterable[dict[str, Any] | str]) -> list[str]:
    return [row if isinstance(row, str) else json.dumps(row) for row in rows]


def test_a_line_changes_what_the_lines_before_said() -> None:
    """Objects are merged, null takes away, and everything else stays as it was."""
    disks = {"disks": {"a": {"device": "sda", "io_in_flight": 1}, "b": {"device": "sdb"}}}
    first, second = read(
        {"readings": {"Disks": disks}},
        {"at": 15, "readings": {"Disks": {"disks": {"a": {"io_in_flight": 9}, "b": None}}}},
    )
    before, after = first.reading(Disks), second.reading(Disks)
    assert before is not None
    assert after is not None
    assert [disk.io_in_flight for disk in before.disks] == [1, None]
    assert [(disk.device, disk.io_in_flight) for disk in after.disks] == [("sda", 9)]
    assert second.taken_boottime == START_BOOTTIME + 15


def test_values_by_label_may_be_objects_or_rows() -> None:
    """Both ways to write them give the same tuples, also with two labels."""
    by_name = {"clock_hertz": {"sm": 1e9}, "ecc_errors_total": {"corrected": {"volatile": 3}}}
    in_rows = {"clock_hertz": [["sm", 1e9]], "ecc_errors_total": [["corrected", "volatile", 3]]}
    found = []
    for more in (by_name, in_rows):
        (snapshot,) = read({"readings": {"Gpus": {**GPUS, "states": [{"gpu": {**GPU, **more}}]}}})
        gpus = snapshot.reading(Gpus)
        assert gpus is not None
        found.append(gpus.states[0].gpu)
    assert found[0] == found[1]
    assert found[0].ecc_errors_total == (("corrected", "volatile", 3.0),)


def test_moments_count_from_the_beginning() -> None:
    """Boot times are those of the recording; a reading without its own is of this moment."""
    clients = [{"pid": 7, "uses": [], "waits_since_boottime": 30}]
    states = [{"gpu": GPU}, {"gpu": GPU, "read_boottime": 20}]
    readings = {
        "Gpus": {**GPUS, "states": states},
        "Workloads": {"reason": "ok", "clients": clients},
    }
    for snapshot in read({"at": 60, "readings": readings}, {"at": 75}):
        gpus, workloads = snapshot.reading(Gpus), snapshot.reading(Workloads)
        assert gpus is not None
        assert workloads is not None
        moments = [state.read_boottime for state in gpus.states]
        assert moments == [snapshot.taken_boottime, START_BOOTTIME + 20]
        assert workloads.clients[0].waits_since_boottime == START_BOOTTIME + 30


def test_kernel_lines_and_xids_become_events_of_their_sources() -> None:
    """The log's are in the reading of the log, NVML's in that of the GPUs, each numbered."""
    (snapshot,) = read(
        {
            "readings": {"KernelLog": LOG, "Gpus": GPUS},
            "kernel": [FELL],
            "xid": {"gpu": "GPU-a", "code": 79},
        }
    )
    log, gpus = snapshot.reading(KernelLog), snapshot.reading(Gpus)
    assert log is not None
    assert gpus is not None
    assert [(event.kind, event.entity_id) for event in log.events] == [("xid", "0000:3b:00.0")]
    assert [(event.entity_id, event.number) for event in gpus.events] == [("GPU-a", 1)]


def test_reports_of_sources_are_read() -> None:
    """A source that was stuck is said to have been."""
    (snapshot,) = read({"readings": {}, "reports": {"gpu": {"outcome": "stuck"}}})
    assert [(report.source, report.outcome) for report in snapshot.reports] == [
        ("gpu", Outcome.STUCK)
    ]


def test_a_replay_tells_what_would_have_been_said() -> None:
    """`rules replay` prints one line for each change."""
    rows = _lines([{"readings": {"KernelLog": LOG, "Gpus": GPUS}}, {"at": 5, "kernel": FELL}])
    said = list(changes(["# a card that falls off the bus", *rows], rule_book()))
    assert any("gpu_lost of gpu GPU 0" in line for line in said)


def test_a_replay_can_be_read_by_programs() -> None:
    """With --json each change is one object with all faults, their severities and their roots."""
    rows = _lines(
        [
            {"readings": {"KernelLog": LOG, "Gpus": GPUS}},
            {"at": 5, "kernel": FELL},
            {"at": 320},
            {"at": 360},
        ]
    )
    first, *_, last = [json.loads(line) for line in changes_as_json(replayed(rows, rule_book()))]
    assert (first["time"], first["healthy"]) == (5.0, False)
    (lost,) = [fault for fault in first["faults"] if fault["rule"] == "gpu_lost"]
    component = {"hw_type": "gpu", "hw_id": "GPU-a", "hw_name": "GPU 0"}
    assert lost == {
        "rule": "gpu_lost",
        "component": component,
        "severity": "critical",
        "state": "active",
        "root": {"rule": "gpu_lost", "component": component},
    }
    assert last["time"] == 360.0
    assert "cleared" in {fault["state"] for fault in last["faults"]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"readings": {"Gpu": {}}}', "no reading Gpu; did you mean Gpus"),
        ('{"base": "h100_5"}', "no base node h100_5; did you mean h100_"),
        ('{"wait": -5}', "wait: -5 is no number of seconds"),
        ('{"wait": 1e9, "every": 1}', "is refused"),
        ('{"wait": 9, "every": 0}', "is refused"),
        ('{"wait": 1e-4, "every": 1e-9}', "is refused"),
        ('{"wait": NaN}', "is no number of seconds"),
        (f'{{"wait": 1{"0" * 400}}}', "too large"),
        ('{"xid": {"gpu": "GPU-a", "code": Infinity}}', "infinity"),
        ('{"base": "server", "rate": {"Disks.disks.nvme0n1.read_bytes": 1e400}, "wait": 9}', "inf"),
        ('{"at": Infinity}', "at: inf is no number of seconds"),
        ('{"set": {"Gpus.states": 5}}', "Gpus"),
        ('{"readings": {}, "kernal": ""}', "no key kernal; did you mean kernel"),
        ('{"readings": {"Disks": {"disks": [{"devise": "a"}]}}}', "did you mean device"),
        ('{"readings": {"Disks": {"disks": [{}]}}}', "missing 1 required"),
        ('{"readings": {"Disks": {"disks": [{"device": 7}]}}}', "7 is no str"),
        ('{"readings": {"Disks": {"disks": 7}}}', "a list is expected"),
        ('{"readings": {"Disks": 7}}', "an object is expected"),
        ('{"readings": {"CpuHealth": {"frequencies": [["a"]]}}}', "2 values are expected"),
        ('{"readings": {}, "reports": {"gpu": {"outcome": "fine"}}}', "fine"),
        ("{", "line 1"),
    ],
)
def test_a_mistake_is_named_with_its_line(line: str, message: str) -> None:
    """What does not fit is refused, and the message helps to mend it."""
    with pytest.raises(BadRecording, match="line 1") as raised:
        read(line)
    assert message in str(raised.value)


def test_a_short_recording_begins_with_a_node_and_lets_time_pass() -> None:
    """`base`, `set`, `rate`, `log` and `wait` say what whole lines would have said."""
    snapshots = read(
        {"base": "h100_4", "rate": {"Disks.disks.nvme1n1": {"reads_completed": 0.1}}},
        {"set": {"Gpus.states.*.gpu": {"temperature_celsius": 88.0}}, "wait": 40, "every": 20},
        {"log": FELL, "rate": {"Disks.disks.nvme1n1.reads_completed": 0}, "wait": 30},
    )
    assert [it.taken_boottime - START_BOOTTIME for it in snapshots] == [0, 0, 20, 40, 40, 55, 70]
    first, last = snapshots[0].reading(Gpus), snapshots[-1].reading(Gpus)
    disks = [it.reading(Disks) for it in snapshots]
    log = snapshots[-1].reading(KernelLog)
    assert first is not None
    assert last is not None
    assert log is not None
    assert {state.gpu.temperature_celsius for state in first.states} == {62.0}
    assert {state.gpu.temperature_celsius for state in last.states} == {88.0}
    assert [it.disks[1].reads_completed for it in disks if it] == [
        *(1000, 1000, 1002, 1004, 1004, 1004, 1004)
    ]
    assert [event.kind for event in log.events] == ["xid"]


@pytest.mark.parametrize("name", sorted(base_nodes(recorded_nodes())))
def test_a_base_node_is_well(name: str) -> None:
    """A recording of nothing but a base node for an hour shows no fault."""
    said = list(changes(_lines([{"base": name, "wait": 3600, "every": 300}]), rule_book()))
    assert said == []


@pytest.mark.parametrize(
    "reasons", [{"hw_thermal": 1, "idle": 0}, [["hw_thermal", 1], ["idle", 0]]]
)
def test_names_of_older_recordings_are_read(
    reasons: object, caplog: pytest.LogCaptureFixture
) -> None:
    """A field or throttle reason that was renamed is read under its old name, with one note."""
    states = {"a": {"gpu": {**GPU, "clock_limit_active": reasons}}}
    disks = {"left_out": 2, "disks": []}
    row = {"readings": {"Gpus": {**GPUS, "states": states}, "Disks": disks}}
    *_, snapshot = read(row, row)
    gpus, found = snapshot.reading(Gpus), snapshot.reading(Disks)
    assert gpus is not None
    assert found is not None
    assert gpus.states[0].gpu.throttle_active == (("hw_thermal_slowdown", 1.0), ("gpu_idle", 0.0))
    assert found.truncated == 2
    assert sorted(record.getMessage() for record in caplog.records) == [
        "clock_limit_active is an old name, and is read as throttle_active",
        "hw_thermal is an old name, and is read as hw_thermal_slowdown",
        "idle is an old name, and is read as gpu_idle",
        "left_out is an old name, and is read as truncated",
    ]


def test_fields_that_are_no_longer_recorded_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """The rest of such a recording is read, with a note."""
    port = {"carrier_changes": 7, "carrier_up_count": 1}
    *_, snapshot = read({"base": "server"}, {"set": {"Network.interfaces.eth0": port}})
    network = snapshot.reading(Network)
    assert network is not None
    assert {it.carrier_changes for it in network.interfaces if it.device == "eth0"} == {7}
    assert [it.getMessage() for it in caplog.records] == [
        "carrier_up_count is no longer recorded, and is left out"
    ]


def test_a_node_in_the_middle_is_refused() -> None:
    """What was there before would be mixed with the node."""
    with pytest.raises(BadRecording, match="line 2: base: a recording begins with its node"):
        read({"readings": {"KernelLog": LOG}}, {"base": "server"})
