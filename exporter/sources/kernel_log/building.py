"""How the source of the kernel log is built."""

from functools import partial
from pathlib import Path

from exporter.sources.context import Surroundings
from exporter.sources.interface import Source
from exporter.sources.kernel_log.source import NAME, KernelLogSource, Means, Place


def build_kernel_log(around: Surroundings) -> Source:
    """Events of the kernel log."""
    config = around.config
    place = Place(
        path=Path(config.kernel_log.path),
        boot_id=around.proc / "sys/kernel/random/boot_id",
        state_dir=Path(config.state.dir) if config.state.dir else None,
        accept_user_records=config.kernel_log.accept_user_records,
    )
    wake = partial(around.wake, NAME)
    return KernelLogSource(place, Means(around.call, around.wall, around.boottime, wake))
