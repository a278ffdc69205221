"""Leaves OpenSSL out of the program until something is encrypted: 4 MiB that few nodes need.

asyncio, aiohttp and hashlib import OpenSSL at once, and do without it where there is none. hashlib
has its own functions then.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import reload
from importlib.util import find_spec

MODULES = ("ssl", "_ssl", "_hashlib")
OWN_HASHES = ("_md5", "_sha1")
"""Modules of a Python that can hash without OpenSSL; some distributions build it without them."""


@contextmanager
def left_out(modules: Iterable[str]) -> Iterator[None]:
    """Import others as if there were none of these modules, unless hashes need them."""
    can_hash = all(map(find_spec, OWN_HASHES))
    names = [name for name in modules if can_hash and name not in sys.modules]
    sys.modules.update(dict.fromkeys(names))  # type: ignore[arg-type]  # None: cannot be imported
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]


def bring_back() -> None:
    """Let asyncio encrypt: its module for that was made without OpenSSL if it was left out."""
    from asyncio import sslproto  # noqa: PLC0415 - imported after what is left out

    if sslproto.ssl is None:  # type: ignore[attr-defined]  # not in typeshed
        reload(sslproto)
