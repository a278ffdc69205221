"""The name of the call a child is in, in memory shared with it: what is left after a crash."""

import mmap
import os
from collections.abc import Callable, Collection

SIZE = 128


class Breadcrumb:
    """Our end: made before the child is started, read after it has died.

    `vital` are calls without which nothing can be read; `device` is the word for what calls have
    an index of.
    """

    def __init__(self, name: str, vital: Collection[str] = (), device: str = "device") -> None:
        self.vital = vital
        self.device = device
        self.descriptor = os.memfd_create(f"breadcrumb-{name}")
        os.truncate(self.descriptor, SIZE)

    def read(self) -> str:
        """Read the call the child was in last; empty when it was in none."""
        return os.pread(self.descriptor, SIZE, 0).rstrip(b"\0").decode("ascii", "replace")

    def clear(self) -> None:
        """Forget the last child."""
        os.pwrite(self.descriptor, bytes(SIZE), 0)

    def close(self) -> None:
        """Give the memory back."""
        os.close(self.descriptor)


def crumb_writer(descriptor: int) -> Callable[[str], None]:
    """Give the child's end: a function that leaves the name of the call about to be made."""
    shared = mmap.mmap(descriptor, SIZE)
    encoded: dict[str, bytes] = {}

    def leave(call: str) -> None:
        if call not in encoded:
            encoded[call] = call.encode("ascii", "replace")[:SIZE].ljust(SIZE, b"\0")
        shared[:] = encoded[call]

    return leave
