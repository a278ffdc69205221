"""GPUs on the page: problems, modes that wait, instances, Xids of two sources; and odd names."""

from dataclasses import replace

import pytest

from exporter.collectors.everything import FAMILIES, live_families
from exporter.collectors.gpu.values import (
    DisabledCall,
    Gpu,
    GpuBackend,
    Gpus,
    GpuState,
    MigInstance,
)
from exporter.collectors.kernel_log.values import KernelLog, TracedXids, XidCount
from exporter.collectors.pcie.values import Pcie, PcieDevice
from exporter.exposition.page import Moment
from exporter.exposition.render import Format, render
from tests.exposition.sampling import samples, snapshot_of

CARD = Gpu(0, "GPU-a", "H100", pci_bus_id="0000:3b:00.0")
LABELS = ("0", "H100", "GPU-a")
STATE = GpuState(CARD, 100.0)


def gpus(*states: GpuState, **more: object) -> Gpus:
    """GPUs that NVML was asked for."""
    return Gpus(GpuBackend("nvml", "ok"), states, **more)  # type: ignore[arg-type]  # fields by name


def of_gpu(**fields: object) -> Gpus:
    """One GPU with these fields."""
    return gpus(replace(STATE, gpu=replace(CARD, **fields)))  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(("known", "shown"), [(None, "1"), (0, "0")])
def test_the_numa_node_is_that_of_the_pci_device(known: int | None, shown: str) -> None:
    """The kernel's, unless the driver of the card was read there itself."""
    bus = Pcie((PcieDevice("0000:3b:00.0", "gpu", numa_node=1),))
    ((labels, _),) = samples("hw_gpu_info", snapshot_of(of_gpu(numa_node=known), bus))
    assert labels[-2] == shown
    ((labels, _),) = samples("hw_gpu_info", snapshot_of(of_gpu()))
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
    found = samples("hw_gpu_problem_info", snapshot_of(gpus(replace(STATE, **state))))  # type: ignore[arg-type]  # fields by name
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
        found = samples("hw_gpu_mode_pending", snapshot_of(of_gpu(**fields)))
        assert found == [((*LABELS, mode, target), 1) for target in expected]


def test_vendors_are_shown_where_there_are_several() -> None:
    """On a node of NVIDIA alone nothing is."""
    assert samples("hw_gpu_vendor_info", snapshot_of(of_gpu())) == []
    known = replace(STATE, gpu=replace(STATE.gpu, vendor="nvidia"))
    mixed = gpus(known, STATE, others=(GpuBackend("amdgpu", "ok"),))
    assert samples("hw_gpu_vendor_info", snapshot_of(mixed)) == [((*LABELS, "nvidia"), 1)]
    assert samples("hw_gpu_vendor_info", snapshot_of()) == []


def test_instances_of_a_gpu_share_their_activity() -> None:
    """What two compute instances share, memory and activity, is shown once."""
    first = MigInstance(1, 0, "MIG-a", "1g.10gb", 100, 40, (("sm", 0.5),))
    both = (first, replace(first, compute_instance=1, mig_uuid="MIG-b", activity_ratio=None))
    seen = snapshot_of(of_gpu(mig_instances=both))
    assert samples("hw_gpu_mig_info", seen) == [
        ((*LABELS, "1", "0", "1g.10gb", "MIG-a"), 1),
        ((*LABELS, "1", "1", "1g.10gb", "MIG-b"), 1),
    ]
    assert samples("hw_gpu_mig_memory_used_bytes", seen) == [
        ((*LABELS, "1", "", ""), 40),
    ]
    assert samples("hw_gpu_mig_activity_ratio", seen) == [((*LABELS, "1", "sm"), 0.5)]
    assert samples("hw_gpu_mig_info", snapshot_of(of_gpu())) == []


def test_an_xid_is_counted_by_the_source_that_saw_more() -> None:
    """By code and GPU; each of the two sources may have missed some."""
    by_nvml = (
        XidCount("GPU-a", 79, 1, 50.0),
        XidCount("GPU-a", 13, 5, 60.0),
        XidCount("b", 13, 9, 9.0),
    )
    by_log = (
        XidCount("0000:3b:00.0", 79, 2, 40.0),
        XidCount("0000:3b:00.0", 48, 3, 70.12345),
        XidCount("0000:99:00.0", 79, 9, 1.0),
    )
    log = KernelLog("kmsg", "ok", 9, 0, 0, xids=by_log)
    seen = snapshot_of(gpus(STATE, xids=by_nvml), log)
    counts = {labels[3]: value for labels, value in samples("hw_gpu_xid_errors_total", seen)}
    assert counts == {"13": 5, "48": 3, "79": 2}
    name = "hw_gpu_xid_last_timestamp_seconds"
    assert {labels[3]: value for labels, value in samples(name, seen)} == {
        "13": 60.0,
        "48": 70.123,
        "79": 50.0,
    }
    nowhere = snapshot_of(
        gpus(replace(STATE, gpu=replace(CARD, pci_bus_id=None)), xids=by_nvml), log
    )
    assert len(samples("hw_gpu_xid_errors_total", nowhere)) == 2
    assert samples("hw_gpu_xid_errors_total", snapshot_of(gpus(STATE))) == []


def test_an_xid_of_three_sources_is_counted_once() -> None:
    """The tracepoint reports what kernel log and NVML do; alone it is enough for a zero."""
    printed = XidCount("0000:3b:00.0", 79, 2, 40.0)
    log = KernelLog("kmsg", "ok", 9, 0, 0, xids=(printed,))
    traced = TracedXids((replace(printed, count=3, last_at=45.0),))
    seen = snapshot_of(gpus(STATE, xids=(XidCount("GPU-a", 79, 1, 50.0),)), log, traced)
    assert [value for _, value in samples("hw_gpu_xid_errors_total", seen)] == [3]
    assert [value for _, value in samples("hw_gpu_xid_last_timestamp_seconds", seen)] == [50.0]
    of_nvidia = replace(STATE, gpu=replace(CARD, vendor="nvidia"))
    unread = replace(gpus(of_nvidia), backend=GpuBackend("nvidia-smi", "no_library", nvml_up=False))
    for readings, totals in (((unread,), []), ((unread, TracedXids()), [0])):
        found = samples("hw_gpu_xids_total", snapshot_of(*readings))
        assert [value for _, value in found] == totals


def test_a_call_that_is_not_made_is_shown_for_its_gpu() -> None:
    """Or for all where it is made for none."""
    other = GpuState(replace(CARD, index=1, uuid="GPU-b"), 100.0)
    off = (DisabledCall("nvmlDeviceGetPowerUsage", 1), DisabledCall("nvmlDeviceGetFanSpeed", None))
    seen = snapshot_of(gpus(STATE, other, disabled_calls=off))
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
        seen = snapshot_of(gpus(state))
        assert [len(samples(name, seen)) for name in names] == expected, word


def test_a_counter_has_its_name_in_each_format() -> None:
    """The text format keeps `_total` in the heading, OpenMetrics leaves it out there."""
    seen = snapshot_of(gpus(STATE, xids=(XidCount("GPU-a", 79, 1, 50.0),)))
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
    seen = snapshot_of(gpus(replace(STATE, gpu=replace(CARD, name=name))))
    families = [each for each in FAMILIES if each.name == "hw_gpu_up"]
    line = render(families, seen, Format.TEXT).body.decode().splitlines()[2]
    assert line == f'hw_gpu_up{{node="n",gpu_index="0",gpu_name="{shown}",gpu_uuid="GPU-a"}} 1'


def test_ages_are_told_to_the_millisecond() -> None:
    """Of the snapshot and of each GPU; a clock that goes back makes nothing younger than new."""
    for boottime, age in ((100.12345, 0.123), (99.0, 0.0)):
        live = {each.name: each for each in live_families(Moment(boottime))}
        seen = snapshot_of(gpus(STATE))
        assert list(live["hw_exporter_snapshot_age_seconds"].samples(seen)) == [((), age)]
        assert list(live["hw_gpu_data_age_seconds"].samples(seen)) == [(LABELS, age)]
        assert list(live["hw_exporter_series"].samples(seen)) == [((), 0)]


@pytest.mark.parametrize(
    ("number", "shown"),
    [(2.0, "2"), (2.5, "2.5"), (2.0**53 - 1, "9007199254740991"), (2.0**60, repr(2.0**60))],
)
def test_a_number_is_written_without_a_needless_point(number: float, shown: str) -> None:
    """As far as it is exact; beyond, as the float that it is."""
    families = [each for each in FAMILIES if each.name == "hw_gpu_power_draw_watts"]
    body = render(families, snapshot_of(of_gpu(power_draw_watts=number)), Format.TEXT).body.decode()
    assert body.splitlines()[2].endswith(f"}} {shown}")
