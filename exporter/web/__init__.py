"""HTTP endpoints and HTML pages, answered from the last snapshot.

Importing any part of aiohttp imports its client, which reads the certificates of the system:
3 MiB and 0.1 s that a server does not need. So aiohttp's package is entered here unread, and its
server is imported from it; the package is read when somebody first asks it for a name.
"""

import sys
from importlib.util import find_spec, module_from_spec
from typing import Any


def _enter_aiohttp() -> None:
    spec = find_spec("aiohttp")
    if "aiohttp" in sys.modules or spec is None or spec.loader is None:
        return
    package, load = module_from_spec(spec), spec.loader.exec_module
    names = vars(package)

    def read(name: str) -> Any:
        del names["__getattr__"]
        load(package)
        return getattr(package, name)

    sys.modules["aiohttp"] = package
    names["__version__"] = ""  # for a header that we replace
    try:
        import aiohttp.web_server  # noqa: F401, PLC0415 - the one that needs all others
    except ImportError:  # a version whose server needs the package
        load(package)
    else:
        del names["__version__"]
        names["__getattr__"] = read


_enter_aiohttp()
