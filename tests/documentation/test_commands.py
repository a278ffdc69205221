"""Every command and every example of the pages for users works as it is written."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
import yaml

from exporter.collectors.everything import rule_book
from exporter.config.file import load, read_file
from exporter.faults.silences import Silences
from tests.documentation.blocks import (
    LANGUAGES,
    PAGES,
    Block,
    Command,
    blocks,
    command_blocks,
    file_of,
    folder_of,
    outside_of_blocks,
)
from tests.documentation.table import FILES, MORE, NOT_TRIED, TRIED, Place
from tests.documentation.trying import Reader, beside_programs
from tests.fakes.promtool import needs_promtool
from tests.program import ROOT

COMMANDS = {
    page: [command for block in command_blocks(page) for command in block] for page in PAGES
}
ALL_BLOCKS = [block for page in PAGES for block in blocks(page)]
MISSING = [name for name in ("bash", "curl", "grep", "timeout") if shutil.which(name) is None]


def _of(language: str) -> list[Block]:
    return [block for block in ALL_BLOCKS if block.language == language]


def _not_tried(page: str) -> list[str]:
    return [entry for entries in NOT_TRIED.get(page, {}).values() for entry in entries]


def _stands_for(entry: str, command: Command) -> bool:
    if entry.endswith(MORE):
        return command.text.startswith(entry.removesuffix(MORE))
    return command.text == entry


def test_every_command_is_tried_or_listed_with_a_reason() -> None:
    """A command that nobody thought of fails here, until it is in one of the two tables."""
    for page in PAGES:
        for command in COMMANDS[page]:
            ways = [entry for entry in _not_tried(page) if _stands_for(entry, command)]
            ways += [text for text in TRIED.get(page, {}) if text == command.text]
            assert len(ways) == 1, f"{page}: {command.text!r} is in the tables {len(ways)} times"


def test_no_entry_has_outlived_its_command() -> None:
    """An entry of the tables whose command or page is gone fails here."""
    assert {*TRIED, *NOT_TRIED, *FILES} <= set(PAGES)
    for page in PAGES:
        for entry in (*TRIED.get(page, {}), *_not_tried(page)):
            found = [command for command in COMMANDS[page] if _stands_for(entry, command)]
            assert found, f"{page} does not say {entry!r} any more"


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Place, int]]:
    """The ports of the programs that all pages share."""
    with beside_programs(tmp_path_factory.mktemp("documented")) as found:
        yield found


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
@pytest.mark.parametrize("page", TRIED)
@pytest.mark.system
def test_commands_do_what_the_page_says(page: str, tmp_path: Path, ports: dict[Place, int]) -> None:
    """Run as written, each has the exit code and prints what its page shows."""
    reader = Reader(page, tmp_path, ports)
    for block in command_blocks(page):
        try:
            for command in block:
                if command.text in TRIED[page]:
                    reader.follow(command)
        finally:
            reader.leave()


def test_every_block_says_what_it_is() -> None:
    """A block has a language that is known here, and none is hidden behind four spaces."""
    assert {block.language for block in ALL_BLOCKS} <= LANGUAGES
    for page in PAGES:
        assert re.findall(r"\n\n {4}\S.*", outside_of_blocks(page)) == [], page


@pytest.mark.parametrize("block", _of("toml"), ids=lambda block: block.page)
def test_toml_is_accepted(block: Block, tmp_path: Path) -> None:
    """An example is a good configuration, or a good file of rules."""
    file = tmp_path / "example.toml"
    file.write_text(block.text)
    if "[[rule]]" in block.text:
        assert rule_book((str(file),)).mistakes == ()
    elif "[[silence]]" in block.text:
        silences = Silences(None, (str(file),), (), tuple)
        silences.reread(now=datetime(2030, 1, 1, tzinfo=timezone.utc).timestamp())
        assert silences.mistakes == ()
    else:
        load([read_file(file)])


@pytest.mark.parametrize("block", _of("json"), ids=lambda block: block.page)
def test_json_is_json(block: Block) -> None:
    """Every line of an example is a document."""
    for line in block.text.splitlines():
        json.loads(line)


PROMETHEUS_FILES = {"scrape_configs": ("config", "--syntax-only"), "groups": ("rules",)}


@needs_promtool
@pytest.mark.parametrize("block", _of("yaml"), ids=lambda block: block.page)
@pytest.mark.system
def test_yaml_is_what_its_reader_takes(block: Block, tmp_path: Path) -> None:
    """Prometheus takes what is meant for it; the rest is for kustomize or Grafana."""
    document = yaml.safe_load(block.text)
    checked_as = next((key for key in PROMETHEUS_FILES if key in document), None)
    if checked_as is None:
        kustomize = {"resources", "components", "configMapGenerator", "patches"}
        assert document.keys() & (kustomize | {"providers"}), block.page
        return
    file = tmp_path / "prometheus.yml"
    file.write_text(block.text)
    command = ["promtool", "check", *PROMETHEUS_FILES[checked_as], str(file)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("block", _of("python"), ids=lambda block: block.page)
def test_python_compiles(block: Block) -> None:
    """An example is a program."""
    compile(block.text, block.page, "exec")


def test_what_a_page_points_to_is_there() -> None:
    """Every link to a file leads to one, and every target for make can be made."""
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        text = outside_of_blocks(page)
        links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
        assert [link for link in links if not (folder_of(page) / link).exists()] == [], page
        targets = re.findall(r"`make ([a-z-]+)\b", text)
        assert [name for name in targets if f"\n{name}:" not in makefile] == [], page


def test_files_of_pages_are_there() -> None:
    """Each file that a command needs stands on its page."""
    for page, files in FILES.items():
        assert all(file_of(page, language) for language in files.values())
