"""Modules that others import for what a server never does, loaded when they are first used.

asyncio, aiohttp, attrs and the modules of e-mail, which aiohttp reads headers with, import them at
once: 3 MiB.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import Any

NAMES = frozenset(
    {
        "asyncio.sslproto",
        *("attr.converters", "attr.filters", "attr.validators"),
        *("bz2", "lzma"),
        *("calendar", "email.base64mime", "email.header", "email.quoprimime"),
        *("idna", "mimetypes", "tokenize", "uuid"),
    }
)
TAKEN_FROM = ("email.policy", "html", "urllib.request")
"""Modules of which aiohttp takes functions, and one object, by `from … import …`: a class of such a
module could not be left out in this way."""


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


class Postponed:
    """Stands for one thing of a module, which is loaded when the thing is called or looked into."""

    def __init__(self, module: str, name: str) -> None:
        self.__place = module, name

    def thing(self) -> Any:
        """Return the thing itself; its module is imported now."""
        module, name = self.__place
        return getattr(import_module(module), name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the thing, a function."""
        return self.thing()(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.thing(), name)


class _StandIn(ModuleType):
    """Gives others what they take from a module, without the module."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Postponed(self.__name__, name)


@contextmanager
def imported_late() -> Iterator[None]:
    """Let what imports these modules have them unloaded."""
    stand_ins = {name: _StandIn(name) for name in TAKEN_FROM if name not in sys.modules}
    sys.modules.update(stand_ins)
    sys.meta_path.insert(0, _Finder)
    try:
        yield
    finally:
        sys.meta_path.remove(_Finder)
        for name in stand_ins:
            del sys.modules[name]
