"""Builds HTML from values: text is escaped unless it is Html; styles and scripts are hashed."""

import base64
import hashlib
from functools import lru_cache
from html import escape
from pathlib import Path

ASSETS = Path(__file__).resolve().parent / "assets"
VOID = frozenset({"meta", "path", "rect"})


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """Build an element; `class_` and `aria_label` become `class` and `aria-label`.

    Children that are not Html are escaped. Children that are None are left out, and so are
    attributes that are None or False; True is an attribute without a value.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID and not children:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(children: object) -> Html:
    """Concatenate children as HTML; lists and generators are flattened."""
    if children is None or children is False:
        return Html("")
    if isinstance(children, Html):
        return children
    if isinstance(children, (str, int, float)):
        return Html(escape(str(children)))
    return Html("".join(join(child) for child in children))  # type: ignore[attr-defined] # any iterable


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


@lru_cache(maxsize=4)
def asset(name: str) -> str:
    """Read a file of the package for use in a page."""
    return (ASSETS / name).read_text("utf-8")


@lru_cache(maxsize=2)
def policy(*, with_script: bool) -> str:
    """Return the Content-Security-Policy: our own style and script by hash, nothing else."""
    script = f"script-src 'sha256-{_hash('page.js')}'; connect-src 'self'; " if with_script else ""
    return (
        f"default-src 'none'; style-src 'sha256-{_hash('page.css')}'; {script}"
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _hash(name: str) -> str:
    return base64.b64encode(hashlib.sha256(asset(name).encode()).digest()).decode()


def page(title: str, body: Html, *, with_script: bool = False) -> Html:
    """Build a whole page; a page without a script is reloaded by the browser."""
    refresh = tag("meta", http_equiv="refresh", content="15")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(asset("page.css"))),
        tag("noscript", refresh) if with_script else None,
    )
    script = tag("script", Html(asset("page.js"))) if with_script else None
    skip = tag("a", "Skip to content", href="#main", class_="skip")
    return Html(f"<!doctype html>\n{tag('html', head, tag('body', skip, body, script), lang='en')}")
