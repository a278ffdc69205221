"""What is told of an incident: one text, whatever shows it."""

from dataclasses import replace

from exporter.model.incident import incidents_of
from exporter.model.verdict import Cause, Conclusions, Fault, Naming, Subject
from tests.kubernetes.facts import fault

POD = Subject("workload", "workload", "ml/train-0/main", "ml/train-0/main")
JOB = Subject("workload", "workload", "slurm/job_7", "slurm/job_7")
PORT = Subject("pcie", "pcie", "0000:60:01.0", "0000:60:01.0")
GPUS = tuple(Subject("gpu", "gpu", f"GPU-{n}", f"GPU {n}") for n in range(8))

NAMINGS = {
    "gpu": Naming("GPUs", is_numbered=True),
    "workload": Naming(is_alone=True),
    "process": Naming(is_alone=True),
}


def _conclusions(*faults: Fault) -> Conclusions:
    return Conclusions(faults=faults, subjects=GPUS, namings=NAMINGS)


def _remap(gpu: Subject) -> Fault:
    text = f"Row remapping of {gpu.hw_name} failed: no spare rows are left"
    return replace(fault("gpu_row_remap_failed", subject=gpu), summary=text, advice="Replace it.")


def test_equal_faults_are_one_incident() -> None:
    """Eight GPUs with the same fault are counted in one sentence and named as a range."""
    said = _conclusions(*map(_remap, GPUS))
    (told,) = incidents_of(said)
    assert told.summary == "8 of 8 GPUs: row remapping failed: no spare rows are left"
    assert told.details == "Affects GPU 0–7. Since 1 Jan 00:01 UTC. Replace it."
    (some,) = incidents_of(replace(said, faults=tuple(map(_remap, (GPUS[1], GPUS[5])))))
    assert some.summary == "2 of 8 GPUs: row remapping failed: no spare rows are left"
    assert some.affects == "GPU 1, 5"


def test_a_name_at_the_start_leaves_a_sentence() -> None:
    """Where the summary begins with the component, each of them has what it says."""
    rows = [
        replace(fault("gpu_hot", subject=gpu), summary=f"{gpu.hw_name} is too hot: {heat} °C")
        for gpu, heat in zip(GPUS, (91, 92), strict=False)
    ]
    (told,) = incidents_of(_conclusions(*rows))
    assert told.summary == "2 of 8 GPUs: each is too hot"


def test_the_root_instructs_and_all_that_suffers_is_named() -> None:
    """The worst effect, its cause, GPUs, pods and jobs; what to do is what the root says."""
    port = replace(
        fault("pcie_link_down", subject=PORT, severity="warning"),
        summary="The PCIe link below port 0000:60:01.0 went down",
        advice="Reseat it.",
    )
    cause = Cause("pcie_link_down", PORT, "upstream_of", port.summary, port.since)
    lost = replace(
        fault(subject=GPUS[5], causes=(cause,)),
        summary="GPU 5 has fallen off the bus",
        affected=(POD, JOB, Subject("process", "process", "7", "python (7)")),
        advice="Reboot.",
    )
    (told,) = incidents_of(_conclusions(port, lost))
    assert told.summary == (
        "GPU 5 has fallen off the bus, because the PCIe link below port 0000:60:01.0 went down"
    )
    assert told.affects == "GPU 5; pod ml/train-0; slurm/job_7"
    assert told.action == "Reseat it."
    (ended,) = incidents_of(_conclusions(lost))
    assert (ended.roots, ended.summary, ended.action) == ((), told.summary, "Reboot.")


def test_what_others_chose_is_cleaned_and_bounded() -> None:
    """Control characters and endless names of pods do not get into a label or message."""
    pods = tuple(
        Subject("workload", "workload", f"n/{n}/c", f"n/p{n}\x1b[31m\n/c") for n in range(99)
    )
    hurt = replace(_remap(GPUS[0]), affected=pods, summary="x" * 10_000)
    (told,) = incidents_of(_conclusions(hurt))
    assert told.text.isprintable()
    assert "and 95 more" in told.affects
    assert len(told.text) < 1200


def test_programs_of_different_owners_are_not_put_together() -> None:
    """Two processes that crashed are two incidents: each has another owner."""
    crashed = [
        fault("process_crashed", subject=Subject("process", "process", pid, f"a ({pid})"))
        for pid in ("1", "2")
    ]
    assert len(incidents_of(_conclusions(*crashed))) == 2
