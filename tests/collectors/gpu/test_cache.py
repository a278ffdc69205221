"""What is kept of each GPU, and whom a problem is about."""

from dataclasses import replace

from exporter.collectors.gpu.backend import GpuAnswer, GpuProblem
from exporter.collectors.gpu.cache import GpuCache
from exporter.collectors.gpu.values import Gpu, GpuProcess, GpuState
from exporter.config import GpuConfig

CARDS = tuple(
    Gpu(n, f"GPU-{n}", "H100", pci_bus_id=f"0000:0{n}:00.0", architecture="Hopper")
    for n in range(3)
)


def cache_after(*answers: GpuAnswer) -> dict[str, GpuState]:
    """The states by UUID after three healthy cards and then these answers, a second apart."""
    cache = GpuCache(GpuConfig(), vendor="nvidia")
    for moment, answer in enumerate((GpuAnswer(CARDS), *answers)):
        cache.take(answer, moment)
    return {state.gpu.uuid: state for state in cache.states(len(answers))}


def test_a_problem_is_told_by_uuid_by_address_or_by_place() -> None:
    """Whichever of them a lost GPU is named by, it is the one that was known."""
    for named in (
        GpuProblem("gpu_lost", uuid="GPU-1"),
        GpuProblem("gpu_lost", index=1),
        GpuProblem("gpu_lost", pci_bus_id="0000:01:00.0"),
        GpuProblem("gpu_lost", index=0, pci_bus_id="0000:01:00.0"),
    ):
        states = cache_after(GpuAnswer((CARDS[0], CARDS[2]), (named,)))
        assert (states["GPU-1"].up, states["GPU-1"].reason) == (False, "gpu_lost")
        assert states["GPU-0"].up
        assert states["GPU-2"].up


def test_after_a_partial_answer_nothing_is_concluded_of_the_others() -> None:
    """They are served from the cache and keep their last real state."""
    lost = GpuProblem("gpu_lost", index=1)
    states = cache_after(GpuAnswer((CARDS[0],), (lost,), is_partial=True))
    assert [(s.up, s.stale, s.reason) for s in states.values()] == [
        (True, False, None),
        (False, True, "gpu_lost"),
        (True, True, None),
    ]


def test_a_gpu_that_never_answered_is_shown_by_its_place() -> None:
    """It is down, without age or values, and gone when it turns out who it is."""
    stranger = GpuProblem("gpu_lost", index=3)
    states = cache_after(GpuAnswer(CARDS, (stranger,)))
    assert (states[""].gpu.index, states[""].up, states[""].expired) == (3, False, True)
    named = cache_after(GpuAnswer(CARDS, (replace(stranger, uuid="GPU-9"),)))
    assert named["GPU-9"].gpu.uuid == "GPU-9"
    fourth = replace(CARDS[0], index=3, uuid="GPU-3")
    assert cache_after(GpuAnswer(CARDS, (stranger,)), GpuAnswer((*CARDS, fourth))).keys() == {
        "GPU-0",
        "GPU-1",
        "GPU-2",
        "GPU-3",
    }


def test_identity_that_is_not_said_again_is_kept() -> None:
    """nvidia-smi says less of who a GPU is than NVML: its labels do not change for that."""
    bare = tuple(Gpu(card.index, card.uuid, card.name, temperature_celsius=40) for card in CARDS)
    gpu = cache_after(GpuAnswer(bare))["GPU-0"].gpu
    assert (gpu.architecture, gpu.pci_bus_id) == ("Hopper", "0000:00:00.0")
    assert gpu.temperature_celsius == 40


def test_a_gpu_that_sleeps_is_up_and_says_nothing_that_moves() -> None:
    """Known or not, it is neither lost nor shown with what it said when it was awake."""
    cache = GpuCache(GpuConfig(), vendor="nvidia")
    warm = Gpu(
        0, "GPU-0", "H", pci_bus_id="0000:18:00.0", temperature_celsius=60, memory_total_bytes=8
    )
    asleep = tuple(
        GpuProblem("suspended", index=index, pci_bus_id=address)
        for index, address in enumerate(("0000:18:00.0", "0000:3b:00.0"))
    )
    cache.take(GpuAnswer((warm,)), 0)
    for moment in (1, 2):
        cache.take(GpuAnswer((), asleep), moment)
    known, stranger = cache.states(3)
    assert (known.gpu.uuid, known.up, known.suspended) == ("GPU-0", True, True)
    assert (known.gpu.temperature_celsius, known.gpu.memory_total_bytes) == (None, 8)
    assert (stranger.gpu.uuid, stranger.up, stranger.suspended) == ("", True, True)
    assert stranger.expired  # nothing was ever read of it
    expired, _ = cache.states(300)
    assert (expired.expired, expired.up, expired.gpu.name) == (True, True, "H")
    cache.take(GpuAnswer((warm,)), 301)
    (awake,) = cache.states(301)
    assert (awake.suspended, awake.stale, awake.gpu.temperature_celsius) == (False, False, 60)


def test_a_gpu_that_was_warm_is_not_at_zero() -> None:
    """45, 0, 0, 45 degrees: the zeros are left out and counted; after 20 and less 0 may be true."""
    cache = GpuCache(GpuConfig(), vendor="nvidia")
    shown = []
    for moment, celsius in enumerate((45, 0, 0, 45, 12, 0, 20, 0, 21, 0)):
        gpu = Gpu(0, "GPU-0", "H", temperature_celsius=celsius)
        cache.take(GpuAnswer((gpu,)), moment)
        (state,) = cache.states(moment)
        shown.append(state.gpu.temperature_celsius)
    assert shown == [45, None, None, 45, 12, 0, 20, 0, 21, None]
    assert cache.rejected == {"temperature_celsius": 3}


def test_a_lost_gpu_that_slept_before_is_not_up_when_its_reading_expires() -> None:
    """Suspended, then lost, then expired: it is down all the time since it was lost."""
    cache = GpuCache(GpuConfig(), vendor="nvidia")
    gpu = Gpu(0, "GPU-0", "H100", pci_bus_id="0000:01:00.0")
    cache.take(GpuAnswer((gpu,)), 0.0)
    cache.take(GpuAnswer((), (GpuProblem("suspended", index=0),)), 10.0)
    (asleep,) = cache.states(11.0)
    assert (asleep.up, asleep.suspended) == (True, True)
    cache.take(GpuAnswer((), (GpuProblem("gpu_lost", index=0),)), 20.0)
    for moment in (21.0, 301.0, 1000.0):
        (lost,) = cache.states(moment)
        assert (lost.up, lost.suspended, lost.reason) == (False, False, "gpu_lost")


def test_a_list_that_shows_only_our_own_processes_is_unknown_when_empty() -> None:
    """A GPU at 97 % in a pod without the host's pids is in use, though nobody is listed on it."""
    busy = Gpu(0, "GPU-0", "H100", utilization_percent=97.0, processes=())
    listed = Gpu(1, "GPU-1", "H100", processes=(GpuProcess(7, "compute"),))
    cache = GpuCache(GpuConfig(), vendor="nvidia", sees_host_pids=False)
    cache.take(GpuAnswer((busy, listed)), 1.0)
    states = {state.gpu.uuid: state.gpu for state in cache.states(1.0)}
    assert (states["GPU-0"].processes, states["GPU-0"].is_used) == (None, True)
    assert states["GPU-1"].processes == listed.processes
    honest = GpuCache(GpuConfig(), vendor="nvidia")
    honest.take(GpuAnswer((busy,)), 1.0)
    assert honest.states(1.0)[0].gpu.is_used is False
