"""Letting go of the GPUs on request, so that a driver can be unloaded or a GPU reset."""

from collections.abc import Callable


class GpuRelease:
    """The switch: whoever is asked from outside turns it, the GPU source follows."""

    def __init__(self) -> None:
        self.on_begin: Callable[[], None] = lambda: None
        self.on_end: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Hold no GPU any more, from two seconds from now on at the latest."""
        self.on_begin()

    def end(self) -> None:
        """Read GPUs again, now."""
        self.on_end()
