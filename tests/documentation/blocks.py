"""What the pages for users hold between their fences: commands, what they print, and files."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.program import ROOT

PAGES = tuple(
    page.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "deploy/**/*.md", "dashboards/*.md")
    for page in sorted(ROOT.glob(pattern))
)
LANGUAGES = {"sh", "console", "toml", "yaml", "json", "promql", "python", "text"}
FENCE = re.compile(r"^( *)```(\S*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"\s+# .*$")


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between two fences of a page."""

    page: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command as a page has it, without its comment, and what the page shows of its output."""

    page: str
    text: str
    shown: tuple[str, ...] | None = None


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for _, language, text in FENCE.findall((ROOT / page).read_text("utf-8")):
        yield Block(page, language, text)


def outside_of_blocks(page: str) -> str:
    """The page without its fenced blocks."""
    return FENCE.sub("", (ROOT / page).read_text("utf-8"))


def command_blocks(page: str) -> Iterator[tuple[Command, ...]]:
    """The commands of each block that has some."""
    for block in blocks(page):
        if block.language == "sh":
            lines = _whole_lines(block.text.splitlines())
            yield tuple(Command(page, COMMENT.sub("", line)) for line in lines)
        elif block.language == "console":
            yield tuple(_prompted(block))


def _whole_lines(lines: list[str]) -> Iterator[str]:
    """Lines that belong together as one: behind a backslash, or within quotes."""
    whole = ""
    for line in lines:
        whole += line.strip() if whole.endswith(" ") else line
        if whole.endswith("\\"):
            whole = whole[:-1].rstrip() + " "
        elif _has_open_quotes(whole):
            whole += "\n"
        elif whole.strip() and not whole.lstrip().startswith("#"):
            yield whole.strip()
            whole = ""
        else:
            whole = ""


def _has_open_quotes(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return True
    return False


def _prompted(block: Block) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        yield Command(block.page, COMMENT.sub("", command), tuple(line for line in shown if line))


def file_of(page: str, language: str) -> str:
    """The text of the first block of that language: the file a page lets its reader write."""
    return next(block.text for block in blocks(page) if block.language == language)


def folder_of(page: str) -> Path:
    """Where the links of a page begin."""
    return (ROOT / page).parent
