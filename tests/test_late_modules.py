"""What aiohttp takes from modules that a server does not need works once it is used."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system
ROOT = Path(__file__).resolve().parents[1]
SERVED = """
import sys
from exporter import late_modules
with late_modules.imported_late():
    import exporter.cli, exporter.running
from aiohttp import helpers, web_protocol
"""
TAKEN = """
taken = [
    (name, thing)
    for module in tuple(sys.modules.values())
    for name, thing in list(object.__getattribute__(module, "__dict__").items())
    if type(thing) is late_modules.Postponed
]
"""


def _said(code: str) -> list[str]:
    ended = subprocess.run(
        [sys.executable, "-c", SERVED + code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return ended.stdout.split()


def test_a_server_is_without_them() -> None:
    """A version of aiohttp that uses one at once makes the server heavier, and fails here."""
    loaded = set(_said("print(*sys.modules)"))
    assert "aiohttp.web_server" in loaded
    assert not loaded & {"email.policy", "html.entities", "http.client", "urllib.request"}


def test_no_class_is_taken() -> None:
    """A class that stands for another could be neither inherited from nor compared with."""
    named = _said(f"{TAKEN}for name, thing in taken: print(name, isinstance(thing.thing(), type))")
    assert dict(zip(named[::2], named[1::2], strict=True)) == dict.fromkeys(
        ["HTTP", "getproxies", "proxy_bypass", "html_escape"], "False"
    )


def test_each_does_what_the_real_one_does() -> None:
    """Content types are read, markup is escaped, proxies are found."""
    code = """
print(helpers.parse_content_type("text/plain; charset=utf-8")[1]["charset"])
print(web_protocol.html_escape("<b>"))
import os, html, email.policy
os.environ["http_proxy"] = "http://192.0.2.1:3128"
print(helpers.getproxies()["http"], helpers.HTTP.linesep == email.policy.HTTP.linesep)
"""
    assert _said(code) == ["utf-8", "&lt;b&gt;", "http://192.0.2.1:3128", "True"]
