"""Converts the subset of Markdown in runbooks and actions to HTML."""

import re
from collections.abc import Iterator

from exporter.web.html.builder import Html, tag

_INLINE = re.compile(r"`([^`\n]+)`|\[([^\]\n]+)\]\(([^)\s]+)\)")


def markdown(text: str) -> Iterator[Html]:
    """Convert paragraphs, lists and code blocks to HTML."""
    for at, part in enumerate(text.split("```")):
        if at % 2:
            yield tag("pre", part.partition("\n")[2].rstrip())
            continue
        for block in filter(None, (block.strip() for block in part.split("\n\n"))):
            lines = block.split("\n")
            if all(line.startswith(("- ", "* ", "  ")) for line in lines):
                items = re.split(r"\n(?=[-*] )", block)
                yield tag("ul", [tag("li", *inline(item[2:])) for item in items], class_="steps")
            elif block.startswith("#"):
                yield tag("h2", block.lstrip("# "))
            else:
                yield tag("p", *inline(block))


def inline(text: str) -> Iterator[object]:
    """Yield text, code and https links; other links become text."""
    end = 0
    for match in _INLINE.finditer(text):
        yield text[end : match.start()]
        code, words, target = match.groups()
        if code is not None:
            yield tag("code", code)
        elif target.startswith("https://"):
            yield tag("a", words, href=target, rel="noreferrer")
        elif target.startswith("#"):
            yield tag("a", words, href=f"/runbooks/{target[1:]}")
        else:
            yield words
        end = match.end()
    yield text[end:]
