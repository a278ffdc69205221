"""Who was given which device, by the kubelet's checkpoint."""

import asyncio
import json
from pathlib import Path

import pytest

from exporter.collectors.workloads.kubelet import (
    MAX_RESOURCES,
    Allocation,
    DeviceId,
    KubeletDevices,
    Replicas,
    parse_checkpoint,
    parse_device_id,
    read_checkpoint,
)
from exporter.collectors.workloads.kubelet_grpc import (
    MAX_FRAME_BYTES,
    PING,
    CallFailed,
    call,
    frame,
)
from exporter.reading.source import SourceAbsent, SourceFailed
from tests.collectors.node_tree import device_entry
from tests.collectors.workloads.kubelet import Kubelet

MANY_PINGS = 200
UID = "3b1f0f6e-58c1-4b0e-9c0a-1f6f0d3c2b1a"
GPU = "GPU-5a1c0d3e-7b42-4c19-9d10-000000000000"
MIG = "MIG-6a1c0d3e-7b42-4c19-9d10-000000000000"


def _checkpoint(device_ids: object) -> str:
    entry = {**device_entry(UID, "trainer", ()), "DeviceIDs": device_ids}
    return json.dumps({"Data": {"PodDeviceEntries": [entry]}, "Checksum": 1})


@pytest.mark.parametrize("device_ids", [[GPU], {"0": [GPU]}, {"-1": [], "1": [GPU, GPU]}])
def test_both_forms_of_the_checkpoint_say_the_same(device_ids: object) -> None:
    """One list as until 1.19, or lists by NUMA node as since: the same devices, each once."""
    expected = Allocation("trainer", (DeviceId(uuid=GPU),), pod_uid=UID)
    assert parse_checkpoint(_checkpoint(device_ids)) == KubeletDevices((expected,))


@pytest.mark.parametrize(
    ("resource", "device_id", "device"),
    [
        ("nvidia.com/gpu", GPU, DeviceId(uuid=GPU)),
        ("nvidia.com/gpu.shared", f"{GPU}::7", DeviceId(uuid=GPU)),
        ("example.com/slice", f"{GPU}::0", DeviceId(uuid=GPU)),
        ("nvshare.com/gpu", f"{GPU}__10", DeviceId(uuid=GPU)),
        ("nvidia.com/mig-1g.10gb", MIG, DeviceId(uuid=MIG)),
        ("nvidia.com/mig-1g.10gb", f"MIG-{GPU}/1/0", DeviceId(uuid=GPU)),
        ("nvidia.com/gpu", "3", DeviceId(number=3)),
        ("amd.com/gpu", "0000:83:00.0", DeviceId(uuid="0000:83:00.0")),
        ("amd.com/gpu", "3", None),
        ("intel.com/nic", "0000:83:00.0", None),
        ("nvidia.com/gpu", "nvidia3", DeviceId(minor=3)),
        ("nvidia.com/gpu", "nvidia3/gi2", DeviceId(minor=3)),
        ("nvidia.com/gpu", "nvidia3/gi2/vgpu0", DeviceId(minor=3)),
        ("nvidia.com/gpu", "nvidia3/vgpu1", DeviceId(minor=3)),
        ("nvidia.com/gpu", "3:1", DeviceId(number=3)),
        ("nvidia.com/gpu", "0000:3b:00.0", None),
        ("intel.com/sriov", "3", None),
        ("rdma/hca", "0000:3b:00.0", None),
        ("nvidia.com/gpu", "", None),
    ],
)
def test_every_name_of_a_device_is_understood(
    resource: str, device_id: str, device: DeviceId | None
) -> None:
    """UUIDs, replicas, MIG, numbers; a device of another plugin is never taken for a GPU."""
    assert parse_device_id(resource, device_id) == device


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", '{"Data": 3}', "[" * 100_000, '{"Data": null}'],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    """Text that is cut short or something else gives one sentence, not an exception."""
    with pytest.raises(SourceFailed):
        parse_checkpoint(text)


@pytest.mark.parametrize(
    "entries", ["null", "3", "[3]", '[{"PodUID": 1}]', '[{"PodUID": "a", "ContainerName": "b"}]']
)
def test_odd_entries_are_left_out(entries: str) -> None:
    """An entry without the fields we need costs itself."""
    assert parse_checkpoint('{"Data": {"PodDeviceEntries": ' + entries + "}}") == KubeletDevices()


def test_replicas_are_counted_by_device_and_resource() -> None:
    """Those a container holds, and those that plugins registered, of which some are free."""
    entry = json.loads(_checkpoint({"0": [f"{GPU}::0", f"{GPU}::2"], "1": [f"{MIG}::1"]}))
    entry["Data"]["RegisteredDevices"] = {
        "nvidia.com/gpu": [f"{GPU}::{n}" for n in range(4)],
        "nvshare.com/gpu": [f"{GPU}__1", f"{GPU}__2"],
        "nvidia.com/whole": [GPU, "3"],
        "rdma/hca": ["0000:3b:00.0", "a::1"],
        "odd": None,
    }
    devices = parse_checkpoint(json.dumps(entry))
    gpu, mig = DeviceId(uuid=GPU), DeviceId(uuid=MIG)
    (held,) = devices.allocations
    assert held.replicas == (Replicas(gpu, "nvidia.com/gpu", 2), Replicas(mig, "nvidia.com/gpu", 1))
    assert devices.registered == (
        Replicas(gpu, "nvidia.com/gpu", 4),
        Replicas(gpu, "nvshare.com/gpu", 2),
    )


def test_a_checkpoint_of_very_many_resources_is_bounded() -> None:
    """However many resources a checkpoint names, those beyond the limit are left out."""
    registered = {f"r{n}/gpu": [f"{GPU}::{i}" for i in range(3)] for n in range(2 * MAX_RESOURCES)}
    text = json.dumps({"Data": {"PodDeviceEntries": None, "RegisteredDevices": registered}})
    assert len(parse_checkpoint(text).registered) == MAX_RESOURCES
    assert parse_checkpoint('{"Data": {"RegisteredDevices": [1]}}') == KubeletDevices()


async def test_a_kubelet_that_pings_and_never_reads_fills_no_memory(tmp_path: Path) -> None:
    """Replies nobody takes are waited for: no more pings are read meanwhile, and the call ends."""
    pings = 0

    async def ping(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal pings
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # every socket has it
        while pings < MANY_PINGS:
            writer.write(frame(PING, 0, 0, bytes(MAX_FRAME_BYTES)))
            await writer.drain()
            pings += 1
        writer.close()

    async with Kubelet(tmp_path / "kubelet.sock", ping):
        with pytest.raises(CallFailed):
            await call(tmp_path / "kubelet.sock", "/v1.Pods/List", timeout_secs=0.5)
    assert 0 < pings < MANY_PINGS


def test_a_node_without_a_kubelet_has_no_checkpoint(tmp_path: Path) -> None:
    """No file is absence, not failure."""
    with pytest.raises(SourceAbsent):
        read_checkpoint(tmp_path)
