"""What is said of faults on the page."""

from dataclasses import replace

from exporter.collectors.exporter.fault_families import FAMILIES, MAX_SHOWN
from exporter.collectors.kernel_log.values import KernelLog
from exporter.exposition.render import Format, render
from exporter.faults.entities.silenced import silenced
from exporter.model.event import EventType
from exporter.model.silence import Silence
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from tests.faults.conclusions import BROKEN, CONCLUSIONS, SINCE, fault
from tests.faults.conclusions import DISK as DISK_SUBJECT


def page(conclusions: Conclusions | None) -> list[str]:
    """The samples of a page with these conclusions."""
    snapshot = Snapshot("n1", 1, SINCE, 5.0, 0.1, conclusions=conclusions)
    text = render(FAMILIES, snapshot, Format.TEXT).body.decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def of(family: str, conclusions: Conclusions | None = CONCLUSIONS) -> list[str]:
    """The samples of one family, without name and node."""
    start = f'{family}{{node="n1"'
    return [line.removeprefix(start) for line in page(conclusions) if line.startswith(start)]


DISK = 'hw_type="physical_disk",hw_id="nvme0n1"'
PROCESS = 'hw_type="process",hw_id="4242"'
GPU = 'hw_type="gpu",hw_id="GPU-a"'


def test_a_fault_is_one_while_it_holds_and_zero_for_a_while_after() -> None:
    """What can no longer be judged has no series: it may be well or not."""
    assert of("hw_fault_active") == [
        f',fault="disk_io_errors",severity="critical",{DISK},hw_name="nvme0n1"}} 1',
        f',fault="process_waits",severity="info",{PROCESS},hw_name="train (4242)"}} 1',
        f',fault="gpu_hot",severity="warning",{GPU},hw_name="GPU 0"}} 0',
    ]


def test_events_of_the_kernel_log_are_counted_also_without_rules() -> None:
    """With the log alone, with conclusions alone, with both; with neither there is no series."""
    log = KernelLog("kmsg", "ok", 0, 0, 0, types=((EventType.ERROR_HW.value, 3),))
    concluded = replace(CONCLUSIONS, events=((EventType.ERROR_HW.value, 2),))

    def counted(*, has_log: bool, has_rules: bool) -> list[str]:
        snapshot = Snapshot(
            *("n1", 1, SINCE, 5.0, 0.1),
            readings={KernelLog: log} if has_log else {},
            conclusions=concluded if has_rules else None,
        )
        text = render(FAMILIES, snapshot, Format.TEXT).body.decode()
        found = [line for line in text.splitlines() if line.startswith("hw_events_total{")]
        return [line.rpartition(" ")[2] for line in found if '"error.hw"' in line]

    assert counted(has_log=True, has_rules=False) == ["3"]
    assert counted(has_log=False, has_rules=True) == ["2"]
    assert counted(has_log=True, has_rules=True) == ["5"]
    assert counted(has_log=False, has_rules=False) == []


def test_each_active_fault_names_its_root() -> None:
    """A root names itself."""
    cause = 'cause="disk_io_errors",cause_hw_type="physical_disk",cause_hw_id="nvme0n1"} 1'
    assert of("hw_fault_root_cause") == [
        f',fault="disk_io_errors",{DISK},{cause}',
        f',fault="process_waits",{PROCESS},{cause}',
    ]


def test_counts_are_there_also_when_nothing_is_broken() -> None:
    """A healthy node says zero for each severity, and that it is healthy."""
    healthy = of("hw_faults", Conclusions())
    assert healthy == [f',severity="{word}"}} 0' for word in ("critical", "warning", "info")]
    assert of("hw_node_healthy", Conclusions()) == ["} 1"]
    assert of("hw_node_healthy") == ["} 0"]
    assert len(of("hw_events_total", Conclusions())) == 12


def test_nothing_is_said_where_nobody_judges() -> None:
    """No conclusions are not a healthy node."""
    assert page(None) == []


def test_a_component_is_in_one_state() -> None:
    """One series for each state, exactly one of them 1."""
    states = [line for line in of("hw_status") if DISK in line]
    assert len(states) == 5
    assert [line for line in states if line.endswith(" 1")] == [f',{DISK},hw_state="failed"}} 1']


def test_many_faults_do_not_flood_the_page() -> None:
    """The first ones have series of their own, all are counted."""
    many = tuple(
        fault(f"rule_{n}", replace(DISK_SUBJECT, hw_id=f"d{n}")) for n in range(MAX_SHOWN * 2)
    )
    conclusions = replace(CONCLUSIONS, faults=(BROKEN, *many))
    assert len(of("hw_fault_active", conclusions)) == MAX_SHOWN
    assert ',severity="warning"} 128' in of("hw_faults", conclusions)


def test_a_silenced_fault_has_a_series_beside_its_own() -> None:
    """Alerts leave it out by these labels; the node is healthy, and the count has it still."""
    quiet = silenced(CONCLUSIONS, [Silence("1", SINCE + 60, "me", "test", component="nvme0n1")])
    assert of("hw_fault_silenced") == []
    assert of("hw_fault_silenced", quiet) == [
        f',fault="disk_io_errors",{DISK}}} 1',
        f',fault="process_waits",{PROCESS}}} 1',
    ]
    assert of("hw_fault_active", quiet) == of("hw_fault_active")
    assert of("hw_faults", quiet) == of("hw_faults")
    assert (of("hw_node_healthy"), of("hw_node_healthy", quiet)) == (["} 0"], ["} 1"])
