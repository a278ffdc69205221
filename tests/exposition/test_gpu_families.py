"""GPUs on the page: problems, modes that wait, instances, Xids of two sources; and odd nodes."""

from dataclasses import replace

import pytest

from exporter.collectors.cpu.values import Cpu
from exporter.collectors.disk.values import MdArray, MdArrays
from exporter.collectors.everything import FAMILIES, live_families
from exporter.collectors.gpu.values import (
    DisabledCall,
    Gpu,
    GpuBackend,
    Gpus,
    GpuState,
    GpuXid,
    MigInstance,
)
from exporter.collectors.kernel_log.values import KernelLog, XidCount
from exporter.collectors.memory.values import Dimm, MemoryController, MemoryErrors
from exporter.collectors.node.values import Host
from exporter.collectors.pcie.values import Pcie, PcieDevice, PcieError
from exporter.collectors.sensors.values import Sensor, Sensors
from exporter.exposition.live import Moment
from exporter.exposition.render import Format, render
from exporter.model.snapshot import Outcome, Snapshot, SourceReport

CARD = Gpu(0, "GPU-a", "H100", pci_bus_id="0000:3b:00.0")
LABELS = ("0", "H100", "GPU-a")
STATE = GpuState(CARD, 100.0)


def snapshot(*values: object, reports: tuple[SourceReport, ...] = ()) -> Snapshot:
    """A snapshot of these readings."""
    by_type = {type(value): value for value in values}
    return Snapshot("n", 1, 1e9, 100.0, 0.5, readings=by_type, reports=reports)


def gpus(*states: GpuState, **more: object) -> Gpus:
    """GPUs that NVML was asked for."""
    return Gpus(GpuBackend("nvml", "ok"), states, **more)  # type: ignore[arg-type]  # fields by name


def of_gpu(**fields: object) -> Gpus:
    """One GPU with these fields."""
    return gpus(replace(STATE, gpu=replace(CARD, **fields)))  # type: ignore[arg-type]  # as above


def samples(name: str, seen: Snapshot) -> list[tuple[tuple[str, ...], object]]:
    """The samples of one family."""
    (family,) = (family for family in FAMILIES if family.name == name)
    return list(family.samples(seen))


@pytest.mark.parametrize(("known", "shown"), [(None, "1"), (0, "0")])
def test_the_numa_node_is_that_of_the_pci_device(known: int | None, shown: str) -> None:
    """The kernel's, unless the driver of the card was read there itself."""
    bus = Pcie((PcieDevice("0000:3b:00.0", "gpu", numa_node=1),))
    ((labels, _),) = samples("hw_gpu_info", snapshot(of_gpu(numa_node=known), bus))
    assert labels[-2] == shown
    ((labels, _),) = samples("hw_gpu_info", snapshot(of_gpu()))
    assert labels[-2] == ""


@pytest.mark.parametrize(
    ("state", "reasons"),
    [
        ({}, []),
        ({"reason": "throttled"}, []),
        ({"up": False}, []),
        ({"up": False, "reason": "gpu_lost"}, ["gpu_lost"]),
    ],
)
def test_a_gpu_that_is_not_up_says_why(state: dict[str, object], reasons: list[str]) -> None:
    """One that is up has no problem, one without a reason none that is known."""
    found = samples("hw_gpu_problem_info", snapshot(gpus(replace(STATE, **state))))  # type: ignore[arg-type]  # fields by name
    assert found == [((*LABELS, reason), 1) for reason in reasons]


@pytest.mark.parametrize(
    ("now", "pending", "expected"),
    [
        (None, True, []),
        (True, None, []),
        (True, True, []),
        (True, False, ["disabled"]),
        (False, True, ["enabled"]),
    ],
)
def test_a_mode_waits_for_a_reset_where_it_differs(
    *, now: bool | None, pending: bool | None, expected: list[str]
) -> None:
    """What is not said differs from nothing."""
    for mode, fields in (
        ("ecc", {"ecc_enabled": now, "ecc_mode_pending": pending}),
        ("mig", {"mig_enabled": now, "mig_mode_pending": pending}),
    ):
        found = samples("hw_gpu_mode_pending", snapshot(of_gpu(**fields)))
        assert found == [((*LABELS, mode, target), 1) for target in expected]


def test_vendors_are_shown_where_there_are_several() -> None:
    """On a node of NVIDIA alone nothing is."""
    assert samples("hw_gpu_vendor_info", snapshot(of_gpu())) == []
    known = replace(STATE, gpu=replace(STATE.gpu, vendor="nvidia"))
    mixed = gpus(known, STATE, others=(GpuBackend("amdgpu", "ok"),))
    assert samples("hw_gpu_vendor_info", snapshot(mixed)) == [((*LABELS, "nvidia"), 1)]
    assert samples("hw_gpu_vendor_info", snapshot()) == []


def test_instances_of_a_gpu_share_their_activity() -> None:
    """What two compute instances share, memory and activity, is shown once."""
    first = MigInstance(1, 0, "MIG-a", "1g.10gb", 100, 40, (("sm", 0.5),))
    both = (first, replace(first, compute_instance=1, mig_uuid="MIG-b", activity_ratio=None))
    seen = snapshot(of_gpu(mig_instances=both))
    assert samples("hw_gpu_mig_info", seen) == [
        ((*LABELS, "1", "0", "1g.10gb", "MIG-a"), 1),
        ((*LABELS, "1", "1", "1g.10gb", "MIG-b"), 1),
    ]
    assert samples("hw_gpu_mig_memory_used_bytes", seen) == [
        ((*LABELS, "1", "", ""), 40),
    ]
    assert samples("hw_gpu_mig_activity_ratio", seen) == [((*LABELS, "1", "sm"), 0.5)]
    assert samples("hw_gpu_mig_info", snapshot(of_gpu())) == []


def test_an_xid_is_counted_by_the_source_that_saw_more() -> None:
    """By code and GPU; each of the two sources may have missed some."""
    by_nvml = (GpuXid("GPU-a", 79, 1, 50.0), GpuXid("GPU-a", 13, 5, 60.0), GpuXid("b", 13, 9, 9.0))
    by_log = (XidCount("0000:3b:00.0", 79, 2, 40.0), XidCount("0000:3b:00.0", 48, 3, 70.12345))
    log = KernelLog("kmsg", "ok", 9, 0, 0, xids=by_log)
    seen = snapshot(gpus(STATE, xids=by_nvml), log)
    counts = {labels[3]: value for labels, value in samples("hw_gpu_xid_errors_total", seen)}
    assert counts == {"13": 5, "48": 3, "79": 2}
    name = "hw_gpu_xid_last_timestamp_seconds"
    assert {labels[3]: value for labels, value in samples(name, seen)} == {
        "13": 60.0,
        "48": 70.123,
        "79": 50.0,
    }
    nowhere = snapshot(gpus(replace(STATE, gpu=replace(CARD, pci_bus_id=None)), xids=by_nvml), log)
    assert len(samples("hw_gpu_xid_errors_total", nowhere)) == 2
    assert samples("hw_gpu_xid_errors_total", snapshot(gpus(STATE))) == []


def test_a_call_that_is_not_made_is_shown_for_its_gpu() -> None:
    """Or for all where it is made for none."""
    other = GpuState(replace(CARD, index=1, uuid="GPU-b"), 100.0)
    off = (DisabledCall("nvmlDeviceGetPowerUsage", 1), DisabledCall("nvmlDeviceGetFanSpeed", None))
    seen = snapshot(gpus(STATE, other, disabled_calls=off))
    found = [(labels[2], labels[3]) for labels, _ in samples("hw_gpu_call_disabled_info", seen)]
    assert found == [
        ("GPU-b", "nvmlDeviceGetPowerUsage"),
        ("GPU-a", "nvmlDeviceGetFanSpeed"),
        ("GPU-b", "nvmlDeviceGetFanSpeed"),
    ]


def test_a_gpu_is_suspended_stale_or_neither() -> None:
    """One whose values have expired says neither; zeros of one are shown, of the other not."""
    names = ("hw_gpu_suspended", "hw_gpu_data_stale", "hw_gpu_up")
    states = {
        "awake": (STATE, [0, 1, 1]),
        "asleep": (replace(STATE, suspended=True), [1, 1, 1]),
        "expired": (replace(STATE, expired=True, up=False), [0, 0, 1]),
    }
    for word, (state, expected) in states.items():
        seen = snapshot(gpus(state))
        assert [len(samples(name, seen)) for name in names] == expected, word


def test_sources_are_up_when_they_were_read() -> None:
    """One whose hardware is absent says nothing: `hw_exporter_source_up == 0` is a failure."""
    reports = (
        SourceReport("gpu", Outcome.OK, 0.1),
        SourceReport("disk", Outcome.FAILED, 0.1, "no way"),
        SourceReport("raid", Outcome.ABSENT, 0.1),
        SourceReport("nvme", Outcome.STUCK, 0.1),
        SourceReport("kernel_log", Outcome.OK, 0.1),
    )
    seen = snapshot(reports=reports)
    assert samples("hw_exporter_source_up", seen) == [
        (("gpu",), True),
        (("disk",), False),
        (("nvme",), False),
        (("kernel_log",), True),
    ]
    assert samples("hw_kernel_log_source_info", seen) == []


def test_what_a_node_does_not_name_is_unknown() -> None:
    """The rest is shown as it is."""
    host = Host("n", "Ubuntu", None, "6.8", None, 60.0)
    ((labels, value),) = samples("hw_node_info", snapshot(host))
    assert (labels[0], labels[1], labels[2], value) == ("Ubuntu", "unknown", "6.8", 1)


def test_disks_and_processes_are_counted_by_state() -> None:
    """All four states of an array, both of the scheduler."""
    array = MdArray("md0", "active", "raid1", 2, 1, 3, 4)
    found = samples("hw_md_disks", snapshot(MdArrays((array,))))
    states = (("active", 2), ("failed", 1), ("spare", 3), ("missing", 4))
    assert found == [(("md0", state), count) for state, count in states]
    cpu = Cpu(None, 8, None, None, processes_running=3, processes_blocked=2)
    found = samples("hw_processes", snapshot(cpu))
    assert found == [(("running",), 3), (("blocked",), 2)]


def test_a_card_at_no_port_is_shown_without_one() -> None:
    """And one in no named slot without that."""
    seen = snapshot(Pcie((PcieDevice("0000:3b:00.0", "gpu"),)))
    assert samples("hw_pcie_info", seen) == [(("0000:3b:00.0", "", "gpu", ""), 1)]


def test_errors_of_no_known_module_are_what_the_controller_counted_beside() -> None:
    """Never less than nothing; of each sort by itself."""
    one = Dimm("mc0", "A1", corrected_errors=3, uncorrected_errors=1)
    mc = MemoryController("mc0", corrected_errors=5, uncorrected_errors=0, dimms=(one,))
    found = dict(samples("hw_memory_errors_total", snapshot(MemoryErrors((mc,)))))
    assert found["mc0", "", "corrected"] == 2
    assert found["mc0", "", "uncorrected"] == 0
    silent = replace(mc, dimms=(Dimm("mc0", "A1"),))
    found = dict(samples("hw_memory_errors_total", snapshot(MemoryErrors((silent,)))))
    assert found == {("mc0", "", "corrected"): 5, ("mc0", "", "uncorrected"): 0}


def test_the_hottest_core_is_one_that_says_its_heat() -> None:
    """However cold it is."""
    cores = [
        Sensor("temperature", "c", "coretemp", f"Core {number}", value)
        for number, value in enumerate((None, None, 0.5, None, None))
    ]
    assert samples("hw_temperature_celsius", snapshot(Sensors(tuple(cores)))) == [
        (("c", "coretemp", "hottest core"), 0.5)
    ]


def test_a_counter_has_its_name_in_each_format() -> None:
    """The text format keeps `_total` in the heading, OpenMetrics leaves it out there."""
    seen = snapshot(gpus(STATE, xids=(GpuXid("GPU-a", 79, 1, 50.0),)))
    families = [each for each in FAMILIES if each.name == "hw_gpu_xid_errors_total"]
    headings = [render(families, seen, form).body.decode().splitlines()[1] for form in (*Format,)]
    assert headings == [
        "# TYPE hw_gpu_xid_errors_total counter",
        "# TYPE hw_gpu_xid_errors counter",
    ]


@pytest.mark.parametrize(
    ("name", "shown"), [("a\nb", r"a\nb"), ('a"b', r"a\"b"), ("a\\b", r"a\\b"), ("a b", "a b")]
)
def test_each_sort_of_odd_character_is_escaped(name: str, shown: str) -> None:
    """A line break by itself as well."""
    seen = snapshot(gpus(replace(STATE, gpu=replace(CARD, name=name))))
    families = [each for each in FAMILIES if each.name == "hw_gpu_up"]
    line = render(families, seen, Format.TEXT).body.decode().splitlines()[2]
    assert line == f'hw_gpu_up{{node="n",gpu_index="0",gpu_name="{shown}",gpu_uuid="GPU-a"}} 1'


def test_ages_are_told_to_the_millisecond() -> None:
    """Of the snapshot and of each GPU; a clock that goes back makes nothing younger than new."""
    for boottime, age in ((100.12345, 0.123), (99.0, 0.0)):
        live = {each.name: each for each in live_families(Moment(boottime))}
        seen = snapshot(gpus(STATE))
        assert list(live["hw_exporter_snapshot_age_seconds"].samples(seen)) == [((), age)]
        assert list(live["hw_gpu_data_age_seconds"].samples(seen)) == [(LABELS, age)]
        assert list(live["hw_exporter_series"].samples(seen)) == [((), 0)]


def test_a_card_with_errors_is_named_among_many() -> None:
    """Where links of healthy cards are only counted, its place is still on the page."""
    errors = (PcieError("correctable", "BadTLP", 7),)
    cards = [PcieDevice(f"0000:{number:02x}:00.0", "nvme") for number in range(9)]
    cards[3] = replace(cards[3], errors=errors, parent="0000:00:01.0")
    assert samples("hw_pcie_info", snapshot(Pcie(tuple(cards)))) == [
        (("0000:03:00.0", "0000:00:01.0", "nvme", ""), 1)
    ]


@pytest.mark.parametrize(
    ("number", "shown"),
    [(2.0, "2"), (2.5, "2.5"), (2.0**53 - 1, "9007199254740991"), (2.0**60, repr(2.0**60))],
)
def test_a_number_is_written_without_a_needless_point(number: float, shown: str) -> None:
    """As far as it is exact; beyond, as the float that it is."""
    families = [each for each in FAMILIES if each.name == "hw_gpu_power_draw_watts"]
    body = render(families, snapshot(of_gpu(power_draw_watts=number)), Format.TEXT).body.decode()
    assert body.splitlines()[2].endswith(f"}} {shown}")
