"""The package's own TOML files: compiled by the build, and never stale."""

import marshal
from importlib.util import source_hash
from pathlib import Path

import pytest

from exporter.toml import COMPILED, PACKAGE, parsed, read_shipped

OLD, NEW = b"a = 1\n", b"a = 2\n"


def test_a_compiled_file_is_used_only_for_the_bytes_it_was_made_of(tmp_path: Path) -> None:
    """After any change of the TOML file its compiled file is unused, and so is half of one."""
    file, compiled = tmp_path / "t.toml", tmp_path / f"t{COMPILED}"
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


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.toml")), ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_every_file_of_the_package_is_toml(path: Path) -> None:
    """No file is shipped that cannot be read."""
    assert read_shipped(path)
