"""Modules that others import for what a server never does, loaded when they are first used.

asyncio, aiohttp, attrs and the modules of e-mail, which aiohttp reads headers with, import them at
once: 1 MiB.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

NAMES = frozenset(
    {
        "asyncio.sslproto",
        *("attr.converters", "attr.filters", "attr.validators"),
        *("bz2", "lzma"),
        *("calendar", "email.base64mime", "email.header", "email.quoprimime"),
        *("idna", "mimetypes", "uuid"),
    }
)


class _Finder:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the module is, with a loader that waits; None for all other modules."""
        spec = PathFinder.find_spec(name, path, target) if name in NAMES else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def imported_late() -> Iterator[None]:
    """Let what imports these modules have them unloaded."""
    sys.meta_path.insert(0, _Finder)
    try:
        yield
    finally:
        sys.meta_path.remove(_Finder)
