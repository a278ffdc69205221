"""What is told of an incident: one text, whatever shows it."""

from dataclasses import replace

from exporter.collectors.exporter.incidents import incidents_of
from exporter.model.summary import grouped_summary
from exporter.model.verdict import Cause, Conclusions, Fault, Naming, Subject
from tests.kubernetes.facts import fault

POD = Subject("workload", "workload", "ml/train-0/main", "ml/train-0/main")
JOB = Subject("workload", "workload", "slurm/job_7", "slurm/job_7")
PORT = Subject("pcie", "pcie", "0000:60:01.0", "0000:60:01.0")
NODE = Subject("node", "node", "n1", "n1")
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


def test_equal_faults_of_siblings_are_one_incident() -> None:
    """The fault of the parent tells how many have it; those that follow are named as a range."""
    summaries = [(gpu, _remap(gpu).summary) for gpu in GPUS]
    text = grouped_summary(summaries, NAMINGS["gpu"], len(GPUS))
    assert text == "8 of 8 GPUs: row remapping failed: no spare rows are left"
    root = replace(fault("gpu_row_remap_failed", subject=NODE), summary=text, advice="Replace it.")
    cause = Cause(root.rule, NODE, "siblings", text, root.since)
    parts = tuple(replace(_remap(gpu), causes=(cause,)) for gpu in GPUS)
    (told,) = incidents_of(_conclusions(root, *parts))
    assert told.summary == text
    assert told.details == "Affects GPU 0–7. Since 1 Jan 00:01 UTC. Replace it."
    slow = replace(fault("gpu_slow", subject=GPUS[0]), causes=(*parts[0].causes,))
    (more,) = incidents_of(_conclusions(root, *parts, slow))
    assert more.summary == f"{text}, and another fault follows from it"
    assert len(incidents_of(_conclusions(_remap(GPUS[1]), _remap(GPUS[5])))) == 2


def test_a_name_at_the_start_leaves_a_sentence() -> None:
    """Where the summary begins with the component, each of them has what it says."""
    hot = [
        (gpu, f"{gpu.hw_name} is too hot: {heat} °C")
        for gpu, heat in ((GPUS[0], 91), (GPUS[1], 92))
    ]
    assert grouped_summary(hot, NAMINGS["gpu"], 8) == "2 of 8 GPUs: each is too hot"


def test_what_is_said_of_one_in_passing_is_left_out_for_several() -> None:
    """Which GPUs are nearest differs from port to port."""
    ports = [Subject("network", "network", f"mlx5_{n}/1", f"mlx5_{n}/1") for n in range(4)]
    asides = (", nearest to GPU 0,", ", nearest to GPUs 0, 1, 2, 3,", ", nearest to GPUs 4–7,", "")
    down = [
        (port, f"Port {port.hw_name}{aside} is down (down, polling)")
        for port, aside in zip(ports, asides, strict=True)
    ]
    told = grouped_summary(down, Naming("ports"), 4)
    assert told == "4 of 4 ports: each is down (down, polling)"


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
    over = replace(lost, causes=(replace(cause, ended=90.0),))
    (ended,) = incidents_of(_conclusions(over))
    assert (ended.roots, ended.action) == ((), "Reboot.")
    assert ended.summary == (
        "GPU 5 has fallen off the bus; it began with a fault that has ended:"
        " the PCIe link below port 0000:60:01.0 went down"
    )


def test_what_stands_alone_tells_of_its_incident() -> None:
    """The gravest, while no root is active: the alert of the root tells of it before and after."""
    over = Cause("pcie_link_down", PORT, "upstream_of", "down", 0.0, 30.0)
    slow = fault("gpu_slow", subject=GPUS[5], severity="warning", causes=(over,))
    slow, lost = replace(slow, stands_alone=True), fault(subject=GPUS[5], causes=(over,))
    (told,) = incidents_of(_conclusions(slow, lost))
    assert told.heads == (slow,)
    lost = replace(lost, stands_alone=True)
    (told,) = incidents_of(_conclusions(slow, lost))
    assert told.heads == (lost,)
    down = fault("pcie_link_down", subject=PORT, severity="warning")
    (told,) = incidents_of(_conclusions(down, slow, lost))
    assert told.heads == (down,)


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


def test_equal_codes_are_told_with_a_command_for_all() -> None:
    """What to type names each GPU, and a code keeps its capital letter."""
    summaries = [
        (gpu, f"Xid {code} on {gpu.hw_name}: halted")
        for gpu, code in zip(GPUS, (62, 62, 110), strict=False)
    ]
    assert grouped_summary(summaries[:2], NAMINGS["gpu"], 8) == "2 of 8 GPUs: Xid 62: halted"
    text = grouped_summary(summaries, NAMINGS["gpu"], 4)
    assert text == "3 of 4 GPUs: Xid 62 or Xid 110"
    for advice, action in (
        (
            "Try it: `dcgmi diag -r 3 -i 0`; else reboot.",
            "Try it: `dcgmi diag -r 3 -i 0,1,2`; else reboot.",
        ),
        (
            "Reset it: `npu-smi set -t reset -i 0 -c 0`.",
            "Reset it: `npu-smi set -t reset -i 0 -c 0`.",
        ),
    ):
        root = replace(fault("gpu_xid_critical", subject=NODE), summary=text, advice=advice)
        cause = Cause(root.rule, NODE, "siblings", text, root.since)
        parts = [replace(fault(root.rule, subject=gpu), causes=(cause,)) for gpu in GPUS[:3]]
        (told,) = incidents_of(_conclusions(root, *parts))
        assert told.action == action
