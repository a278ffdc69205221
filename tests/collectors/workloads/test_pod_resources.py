"""The kubelet's pod-resources socket: absent, silent, garbled, replaced, and right."""

import os
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.workloads.kubelet import (
    SOCKET,
    Allocation,
    DeviceId,
    KubeletDevices,
    PodResources,
    Replicas,
    parse_list,
)
from exporter.collectors.workloads.kubelet_grpc import (
    DATA,
    END_HEADERS,
    END_STREAM,
    GO_AWAY,
    HEADERS,
    MAX_MESSAGE_BYTES,
    RESET,
    SETTINGS,
    frame,
)
from exporter.reading.source import SourceFailed
from tests.collectors.workloads.kubelet import (
    Kubelet,
    allocatable_response,
    claim_response,
    in_turn,
    list_response,
    say,
    say_nothing,
    speak,
)
from tests.fakes.source_context import call_now

GPU = "GPU-5a1c0d3e-7b42-4c19-9d10-000000000000"
ROW = ("ml", "train-0", "trainer", "nvidia.com/gpu", (GPU, f"{GPU}::3"))
DEVICE = DeviceId(uuid=GPU)
HELD = (Replicas(DEVICE, "nvidia.com/gpu", 1),)
TRAINER = Allocation("trainer", (DEVICE,), namespace="ml", pod="train-0", replicas=HELD)


@pytest.fixture
def root(short_path: Path) -> Path:
    """The root of a node with a place for the socket."""
    (short_path / SOCKET).parent.mkdir(parents=True)
    return short_path


def _resources(root: Path, timeout_secs: float = 5.0) -> PodResources:
    return PodResources(root, call_now, timeout_secs)


@pytest.mark.parametrize("piece_bytes", [1, 7, 16384])
async def test_the_answer_is_put_together_from_its_frames(root: Path, piece_bytes: int) -> None:
    """However a server cuts its answer, with settings and pings between, it is one message."""
    rows = [("ns", f"pod-{n}", "c", "nvidia.com/gpu", (f"GPU-{n}",)) for n in range(20)]
    answer = list_response(ROW, ("ml", "no-gpu", "c", "intel.com/sriov", ("3",)), *rows)
    async with Kubelet(root / SOCKET, speak(answer, piece_bytes=piece_bytes)):
        found = await _resources(root).read()
    assert found is not None
    assert found.allocations[0] == TRAINER
    assert len(found.allocations) == 21


async def test_without_a_socket_nothing_is_asked(root: Path) -> None:
    """No socket, or a file in its place, is absence and not a failure."""
    assert await _resources(root).read() is None
    (root / SOCKET).write_text("")
    assert await _resources(root).read() is None


async def test_a_socket_that_may_not_be_looked_for_is_a_failure(root: Path) -> None:
    """As for a user who may not enter the kubelet's folder: any user gets this error."""
    with pytest.raises(SourceFailed, match="cannot be reached"):
        await _resources(root / ("x" * 300)).read()


@pytest.mark.parametrize(
    "behave",
    [
        say_nothing,
        say(b""),
        say(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n" * 10),
        say(os.urandom(4096)),
        say(frame(SETTINGS, 0, 0, b"") + frame(GO_AWAY, 0, 0, b"\x00" * 8)),
        say(frame(RESET, 0, 1, b"\x00\x00\x00\x08")),
        say(frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x88")),
        say(frame(DATA, 0, 1, b"\x01\x00\x00\x00\x01x")),
        say(frame(DATA, 0, 1, b"\x00" + (MAX_MESSAGE_BYTES + 1).to_bytes(4, "big"))),
        say(frame(DATA, END_STREAM, 1, b"\x00\x00\x00\x00\x09x")),
        say(frame(DATA, 0, 1, b"\x00\x00\x00\x00\x02\x0a\x7f")),
    ],
    ids=[
        "silent",
        "closed",
        "HTTP/1",
        "noise",
        "goes away",
        "reset",
        "refused",
        "compressed",
        "too long",
        "cut short",
        "no protobuf",
    ],
)
async def test_a_wrong_answer_is_one_sentence(root: Path, behave: Any) -> None:
    """Whatever is at the other end of the socket, the call ends in time and says why."""
    async with Kubelet(root / SOCKET, behave):
        with pytest.raises(SourceFailed):
            await _resources(root, timeout_secs=0.2).read()


async def test_a_kubelet_that_was_restarted_is_found_again(root: Path) -> None:
    """Each call makes a connection of its own: nothing has to be noticed."""
    resources = _resources(root)
    async with Kubelet(root / SOCKET, say(b"")):
        with pytest.raises(SourceFailed):
            await resources.read()
    assert await resources.read() is None
    async with Kubelet(root / SOCKET, speak(list_response(ROW))) as kubelet:
        assert await resources.read() == KubeletDevices((TRAINER,))
        assert await resources.read() == KubeletDevices((TRAINER,))
    assert kubelet.calls == 4


async def test_how_many_replicas_there_are_is_asked_where_one_is_held(root: Path) -> None:
    """Those that plugins registered, by resource; an older kubelet does not know the question."""
    listed = speak(list_response(ROW))
    registered = speak(
        allocatable_response(
            ("nvidia.com/gpu", (f"{GPU}::{n}" for n in range(3))),
            ("nvidia.com/gpu", (f"{GPU}::3",)),
            ("nvshare.com/gpu", (f"{GPU}__1",)),
            ("nvidia.com/whole", (GPU,)),
        )
    )
    refused = say(frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x88"))
    async with Kubelet(root / SOCKET, in_turn(listed, registered, listed, refused)):
        assert await _resources(root).read() == KubeletDevices(
            (TRAINER,),
            (Replicas(DEVICE, "nvidia.com/gpu", 4), Replicas(DEVICE, "nvshare.com/gpu", 1)),
        )
        assert await _resources(root).read() == KubeletDevices((TRAINER,))


async def test_without_replicas_one_call_is_all(root: Path) -> None:
    """A node whose GPUs are not shared is asked as before."""
    row = ("ml", "train-0", "trainer", "nvidia.com/gpu", (GPU,))
    async with Kubelet(root / SOCKET, speak(list_response(row))) as kubelet:
        found = await _resources(root).read()
    assert found is not None
    assert found.allocations[0].replicas == ()
    assert kubelet.calls == 1


CDI = "k8s.gpu.nvidia.com/claim=8d5c6f1e-0000-4000-8000-000000000000-"
OWN = "gpu.nvidia.com"


@pytest.mark.parametrize(
    ("device", "minor"),
    [
        ((OWN, "gpu-3", f"{CDI}gpu-3"), 3),
        ((OWN, "gpu-3-mig-19-0-1", f"{CDI}gpu-3-mig-19-0-1"), 3),
        (("", "", f"{CDI}gpu-3"), 3),
        (("", "", "k8s.gpu.nvidia.com/device=gpu-11"), 11),
        (("", "", f"{CDI}gpu-3-mig-1g.10gb-19-0"), 3),
        ((OWN, "imex-channel-0", f"{CDI}imex-channel-0"), None),
        ((OWN, "gpu-", f"{CDI}gpu-3"), None),
        (("nic.example.com", "gpu-3", "example.com/nic=gpu-3"), None),
        (("", "", "example.com/nic=gpu-3"), None),
    ],
)
def test_a_claim_gives_gpus_by_minor_number(
    device: tuple[str, str, str], minor: int | None
) -> None:
    """NVIDIA's driver for DRA is understood, whether the kubelet names driver and device or not."""
    found = parse_list(claim_response("ml", "train-0", "trainer", device))
    devices = () if minor is None else (DeviceId(minor=minor),)
    assert [it.devices for it in found] == ([devices] if devices else [])


def test_claims_and_device_plugins_stand_side_by_side() -> None:
    """Each container has what it was given in either way, each GPU once."""
    claim = claim_response("ml", "dra-0", "main", *[(OWN, "gpu-1", f"{CDI}gpu-1")] * 2)
    found = parse_list(list_response(ROW) + claim)
    assert found == (
        TRAINER,
        Allocation("main", (DeviceId(minor=1),), namespace="ml", pod="dra-0"),
    )
