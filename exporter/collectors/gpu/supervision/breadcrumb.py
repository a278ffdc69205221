"""The name of the call that a child is in, in shared memory that remains after a crash."""

import mmap
import os
import weakref
from collections.abc import Callable, Collection

SIZE = 128


class Breadcrumb:
    """The exporter's end: created before the child starts, read after it has died.

    `vital` are calls without which nothing can be read; `device` names the devices of calls with an
    index.
    """

    def __init__(self, name: str, vital: Collection[str] = (), device: str = "device") -> None:
        self.vital = vital
        self.device = device
        self.descriptor = os.memfd_create(f"breadcrumb-{name}")
        weakref.finalize(self, os.close, self.descriptor)
        os.truncate(self.descriptor, SIZE)

    def read(self) -> str:
        """Return the last call of the child; empty between calls."""
        return os.pread(self.descriptor, SIZE, 0).rstrip(b"\0").decode("ascii", "replace")

    def clear(self) -> None:
        """Clear the call of the last child."""
        os.pwrite(self.descriptor, bytes(SIZE), 0)


def crumb_writer(descriptor: int) -> Callable[[str], None]:
    """Return the child's end: a function that stores the name of the next call."""
    shared = mmap.mmap(descriptor, SIZE)
    encoded: dict[str, bytes] = {}

    def leave(call: str) -> None:
        if call not in encoded:
            encoded[call] = call.encode("ascii", "replace")[:SIZE].ljust(SIZE, b"\0")
        shared[:] = encoded[call]

    return leave
