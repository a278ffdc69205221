"""The package's own TOML files: compiled by the build or the first start, and never stale."""

import marshal
import subprocess
import sys
from importlib.util import source_hash
from pathlib import Path

import pytest

from exporter.toml import COMPILED, PACKAGE, parsed, read_shipped

OLD, NEW = b"a = 1\n", b"a = 2\n"


@pytest.mark.parametrize("place", [".", "__pycache__"])
def test_a_compiled_file_is_used_only_for_the_bytes_it_was_made_of(
    tmp_path: Path, place: str
) -> None:
    """After any change of the TOML file its compiled file is unused, and so is half of one."""
    file, compiled = tmp_path / "t.toml", tmp_path / place / f"t{COMPILED}"
    compiled.parent.mkdir(exist_ok=True)
    made = marshal.dumps((source_hash(OLD), {"a": 7}), 4)  # another value, to be told by
    compiled.write_bytes(made)
    assert parsed(OLD, file, tmp_path) == {"a": 7}
    assert parsed(NEW, file, tmp_path) == {"a": 2}
    for wrong in (made[:9], b"", b"no marshal", marshal.dumps(7), marshal.dumps(("x", {}))):
        compiled.write_bytes(wrong)
        assert parsed(OLD, file, tmp_path) == {"a": 1}


def test_nothing_compiled_is_read_beside_files_of_others(tmp_path: Path) -> None:
    """An operator's folder is not trusted with marshal."""
    compiled = tmp_path / f"t{COMPILED}"
    compiled.write_bytes(marshal.dumps((source_hash(OLD), {"a": 7}), 4))
    assert parsed(OLD, tmp_path / "t.toml") == {"a": 1}


WRITING = """
import sys
from pathlib import Path
from exporter.toml import parsed
sys.dont_write_bytecode = sys.argv[2] == "no"
folder = Path(sys.argv[1])
print(parsed(b"a = 1\\n", folder / "t.toml", folder))
"""


@pytest.mark.system
@pytest.mark.parametrize("writes", ["yes", "no"])
def test_a_checkout_is_compiled_at_the_first_start(tmp_path: Path, writes: str) -> None:
    """Where Python may write compiled modules, a TOML file is parsed once."""
    command = [sys.executable, "-c", WRITING, str(tmp_path), writes]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == "{'a': 1}\n"
    kept = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert kept == ([f"t{COMPILED}"] if writes == "yes" else [])
    assert parsed(OLD, tmp_path / "t.toml", tmp_path) == {"a": 1}


def test_a_folder_that_cannot_be_written_is_no_mistake(tmp_path: Path) -> None:
    """Where nothing can be kept, the file is parsed each time."""
    (tmp_path / "__pycache__").touch()
    assert parsed(OLD, tmp_path / "t.toml", tmp_path) == {"a": 1}


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.toml")), ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_every_file_of_the_package_is_toml(path: Path) -> None:
    """No file is shipped that cannot be read."""
    assert read_shipped(path)
