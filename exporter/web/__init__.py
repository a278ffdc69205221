"""HTTP endpoints and HTML pages, answered from the last snapshot.

Importing any part of aiohttp imports its client, which reads the certificates of the system:
3 MiB and 0.1 s that a server does not need. So aiohttp's package is entered here unread; its
modules are imported from it one by one.
"""

import sys
from importlib.util import find_spec, module_from_spec


def _enter_aiohttp() -> None:
    spec = find_spec("aiohttp")
    if "aiohttp" in sys.modules or spec is None or spec.loader is None:
        return
    package = sys.modules["aiohttp"] = module_from_spec(spec)
    package.__dict__["__version__"] = ""  # for a header that we replace
    try:
        import aiohttp.web_server  # noqa: F401, PLC0415 - the one that needs all others
    except ImportError:  # a version whose server needs the package
        spec.loader.exec_module(package)


_enter_aiohttp()
