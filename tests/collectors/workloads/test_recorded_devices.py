"""Who holds which GPU, in what kubelets of real nodes said."""

import json
from pathlib import Path

from exporter.collectors.workloads.kubelet import (
    Allocation,
    DeviceId,
    parse_checkpoint,
    parse_list,
)
from tests.collectors.workloads.kubelet import list_response

FOLDER = Path(__file__).resolve().parents[2] / "captures/kubelet"
ID = "00000000-0000-4000-8000-00000000000"
FIRST, SECOND, SHARED, OTHER = (DeviceId(uuid=f"GPU-{ID}{n}") for n in range(4))
ALONE, SLICED, LAST = (DeviceId(uuid=f"MIG-{ID}{n}") for n in range(3))


def test_a_checkpoint_names_the_container_of_a_gpu() -> None:
    """Kubernetes 1.20: ids by NUMA node, next to an answer of the plugin that we do not read."""
    devices = parse_checkpoint((FOLDER / "checkpoint_1.20.json").read_text("utf-8"))
    assert devices.allocations == (
        Allocation("trainer", (FIRST,), pod_uid="aaaaaaaa-0000-4000-8000-000000000001"),
    )
    assert devices.registered == ()


def test_whole_gpus_mig_devices_and_replicas_of_both_have_their_pods() -> None:
    """One node with all of them: each replica counts for the device that it is a part of."""
    pods = json.loads((FOLDER / "pod_resources.json").read_text("utf-8"))["pod_resources"]
    rows = [
        (pod["namespace"], pod["name"], container["name"], it["resource_name"], it["device_ids"])
        for pod in pods
        for container in pod["containers"]
        for it in container["devices"]
    ]
    assert [
        (found.pod, found.container, found.devices, [each.count for each in found.replicas])
        for found in parse_list(list_response(*rows))
    ] == [
        ("train-0", "trainer", (FIRST, SECOND), []),
        ("train-0", "evaluator", (ALONE,), []),
        ("serve-0", "server", (SLICED,), [4]),
        ("serve-1", "server", (SLICED,), [2]),
        ("serve-1", "embedder", (SHARED,), [2]),
        ("serve-1", "embedder", (LAST,), []),
        ("notebook-0", "notebook", (SHARED, OTHER), [2, 3]),
    ]
