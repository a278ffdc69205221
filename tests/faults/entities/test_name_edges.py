"""What hangs together by name, what is over, and who waits: as far as only events tell."""

from pathlib import Path

from exporter.faults.values import Entity
from tests.faults.scenes import active, event, fault, judge, rule, scene, thing

BROKEN = rule("broken", "disk", "events(io_error, within=1h) > 0")


def causes(folder: Path, text: str, *told: tuple[str, str, str]) -> list[tuple[str, str, str]]:
    """The causes of the last rule, after events of these kinds about these things."""
    events = [
        event(kind, 99 + n / 10, (hw_type, name)) for n, (kind, hw_type, name) in enumerate(told)
    ]
    said = judge(folder, text).evaluate(scene(100, events=events))
    return [(cause.rule, cause.subject.hw_id, cause.via) for cause in fault(said, "then").causes]


def then(entity: str, via: str, kind: str = "error.hw") -> str:
    """A rule of this kind of entity that the broken one may explain."""
    return rule(
        "then",
        entity,
        f"events({kind}, within=1h) > 0",
        explained_by=[{"rule": "broken", "via": via}],
    )


def test_a_lost_gpu_is_the_device_of_its_address(tmp_path: Path) -> None:
    """A bus error explains the loss of a GPU that no reading ever showed."""
    text = rule("broken", "pcie", "events(io_error, within=1h) > 0") + then("gpu", "upstream_of")
    address = "0000:3b:00.0"
    told = (("io_error", "pcie", address), ("gpu_lost", "gpu", address))
    assert causes(tmp_path, text, *told) == [("broken", address, "upstream_of")]


def test_a_namespace_is_part_of_its_controller(tmp_path: Path) -> None:
    """Errors of nvme3n1 follow from those of nvme3, and not from those of nvme30."""
    text = BROKEN + then("disk", "same", "gpu_lost")
    told = ("gpu_lost", "physical_disk", "nvme3n1")
    assert causes(tmp_path, text, ("io_error", "physical_disk", "nvme3"), told) == [
        ("broken", "nvme3", "same")
    ]
    assert causes(tmp_path, text, ("io_error", "physical_disk", "nvme30"), told) == []


def test_what_has_ended_is_over_for_its_own_component_only(tmp_path: Path) -> None:
    """`ended=no` counts what came after the last end, by component."""
    judging = judge(tmp_path, rule("open", "disk", "events(io_error, ended=no, within=24h) > 0"))
    disks = (thing("disk", "a"), thing("disk", "b"))

    def look(now: float, *told: tuple[str, dict[str, str]]) -> list[str]:
        events = [event("io_error", now - 1, ("physical_disk", n), **more) for n, more in told]
        said = judging.evaluate(scene(now, *disks, events=events))
        return sorted(each.subject.hw_id for each in said.active)

    assert look(100, ("a", {}), ("b", {})) == ["a", "b"]
    assert look(110, ("a", {"ended": "yes"})) == ["b"]
    assert look(120, ("a", {})) == ["a", "b"]


def test_a_process_that_hangs_waits_for_the_disk_that_is_in_trouble(tmp_path: Path) -> None:
    """Both are told by the kernel only; a process that only crashed waits for nothing."""
    hung: Entity = thing("process", "7")
    judging = judge(tmp_path, rule("any", "node", "events(error.hw, within=1h) > 0"))
    told = [
        event("hung_task", 99, ("process", "7")),
        event("segfault", 99, ("process", "8")),
        event("block_io_error", 98, ("physical_disk", "nvme3n1")),
    ]
    said = judging.evaluate(scene(100, hung, events=told))
    waits = [(edge.source[1], edge.target[1]) for edge in said.graph]
    assert waits == [("7", "nvme3n1")]
    assert active(said) == ["any"]
