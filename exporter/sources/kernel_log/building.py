"""How the source of the kernel log is built."""

from functools import partial
from pathlib import Path

from exporter.sources.context import SourceContext
from exporter.sources.interface import Source
from exporter.sources.kernel_log.source import NAME, KernelLogSource, Means, Place


def build_kernel_log(ctx: SourceContext) -> Source:
    """Events of the kernel log."""
    config = ctx.config
    place = Place(
        path=Path(config.kernel_log.path),
        boot_id=ctx.proc / "sys/kernel/random/boot_id",
        state_dir=Path(config.state.dir) if config.state.dir else None,
        accept_user_records=config.kernel_log.accept_user_records,
    )
    wake = partial(ctx.wake, NAME)
    return KernelLogSource(place, Means(ctx.call, ctx.wall, ctx.boottime, wake))
