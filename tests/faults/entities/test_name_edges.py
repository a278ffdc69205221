"""What hangs together by name, and what is over, as far as only events tell."""

from pathlib import Path

from tests.faults.scenes import event, fault, judge, rule, scene, thing


def test_a_lost_gpu_is_the_device_of_its_address(tmp_path: Path) -> None:
    """A bus error explains the loss of a GPU that no reading ever showed."""
    address = "0000:3b:00.0"
    because = [{"rule": "broken", "via": "upstream_of"}]
    text = rule("broken", "pcie", "events(io_error, within=1h) > 0") + rule(
        "lost", "gpu", "events(gpu_lost, within=1h) > 0", explained_by=because
    )
    told = [event("io_error", 99, ("pcie", address)), event("gpu_lost", 99.1, ("gpu", address))]
    (cause,) = fault(judge(tmp_path, text).evaluate(scene(100, events=told)), "lost").causes
    assert (cause.rule, cause.subject.hw_id, cause.via) == ("broken", address, "upstream_of")


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
