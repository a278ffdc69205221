"""GPUs of other vendors beside those of NVIDIA: what breaks or blocks costs its own."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from exporter.collectors.gpu.backend import BackendError, GpuAnswer
from exporter.collectors.gpu.values import Gpu
from exporter.collectors.vendors.cards import Indexes, OtherVendorGpus, Parts
from exporter.collectors.vendors.sysfs_cards import SysfsCards
from exporter.collectors.vendors.vendors import VENDORS
from exporter.config import Config, Sources
from tests.collectors.vendors.vendor_node import VendorNode
from tests.fakes.refused import refuse
from tests.fakes.source_context import call_now, source_context
from tests.fakes.virtual_time import in_virtual_time

T = TypeVar("T")

AMD = VENDORS[0]
NVIDIA = Gpu(index=0, uuid="GPU-n", name="H100")


class Blocked:
    """Calls that never return, from the given one on."""

    def __init__(self, good: int) -> None:
        self.calls = 0
        self._good = good

    def __call__(self, function: Callable[[], T]) -> Awaitable[T]:
        self.calls += 1
        if self.calls <= self._good:
            return call_now(function)
        return asyncio.get_running_loop().create_future()


class NoReader:
    """A reader of cards that is never asked."""

    def read(self, *_: object) -> Gpu:
        raise AssertionError

    def forget_all_but(self, addresses: tuple[str, ...]) -> None:
        assert addresses == ()


class Broken:
    """A backend with a bug."""

    def is_here(self) -> bool:
        return True

    async def ask(self) -> GpuAnswer:
        await asyncio.sleep(0)
        raise KeyError("no such field")

    async def close(self) -> None:
        await asyncio.sleep(0)


@in_virtual_time
async def test_a_look_for_drivers_that_blocks_costs_no_gpu_of_nvidia(tmp_path: Path) -> None:
    """NVIDIA's are read each time, and no second look is begun while the first has not ended."""
    call = Blocked(good=2)  # NVIDIA's driver is looked for twice: once at the start
    node = VendorNode(tmp_path / "sys", nvidia=NVIDIA, call=call)
    seen = [await node.read() for _ in range(4)]
    calls = call.calls
    await node.source.close()
    assert [[state.stale for state in gpus.states] for gpus in seen] == [[False]] * 4
    assert calls <= 4


@in_virtual_time
async def test_a_look_for_drivers_that_is_refused_costs_no_gpu_of_nvidia(tmp_path: Path) -> None:
    """A driver that may not be looked for is not there."""
    drivers = tmp_path / "sys/bus/pci/drivers"
    drivers.mkdir(parents=True)
    refuse(drivers / "amdgpu")
    node = VendorNode(tmp_path / "sys", nvidia=NVIDIA)
    seen = await node.read()
    await node.source.close()
    assert [state.up for state in seen.states] == [True]


@in_virtual_time
async def test_cards_that_cannot_be_listed_are_asked_for_once(tmp_path: Path) -> None:
    """Each pass fails at its deadline; one call hangs, and not one for each pass."""
    call = Blocked(good=0)
    ctx = source_context(Config(sources=Sources(sys_root=str(tmp_path))), call=call)
    cards = SysfsCards(Parts(AMD, ctx, Indexes(tmp_path)), NoReader())
    for _ in range(3):
        with pytest.raises(BackendError) as failed:
            await cards.ask()
        assert failed.value.reason == "timeout"
    await cards.close()
    assert call.calls == 1


@in_virtual_time
async def test_a_bug_about_one_vendor_costs_that_vendor(tmp_path: Path) -> None:
    """The reason says so, and nothing is raised that would cost the others their reading."""
    parts = Parts(AMD, source_context(Config()), Indexes(tmp_path))
    gpus = OtherVendorGpus(parts, Broken(), lambda: None)
    before = gpus.backend.reason
    await gpus.wait_a_moment()
    assert (before, gpus.backend.reason) == ("pending", "unknown_error")
