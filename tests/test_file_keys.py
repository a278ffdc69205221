"""Every file that the configuration names, in every form that a file can have."""

import itertools
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from exporter.blocking import DaemonThreads
from exporter.cli import run_command
from exporter.config import Config, NodeConditions
from exporter.kubernetes.api import NodeApi
from exporter.outgoing import RequestFailed
from exporter.regular_file import FileUnusable, read_regular
from tests.fakes.certificates import Authority
from tests.fakes.fuse import StuckFiles

Form = Callable[[Path], None]


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 * 1024**3)


FORMS: dict[str, tuple[Form, str]] = {
    "missing": (lambda _: None, "cannot be read: No such file or directory"),
    "directory": (Path.mkdir, "cannot be read: is a directory, not a file"),
    "fifo": (os.mkfifo, "cannot be read: is a named pipe, not a file"),
    "socket": (_socket, "cannot be read: is a socket, not a file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "cannot be read: is a device, not a"),
    "sparse 10 GiB": (_sparse, "is larger than "),
    "link to itself": (lambda path: path.symlink_to(path), "cannot be read: Too many levels"),
    "link into nothing": (lambda path: path.symlink_to("/nowhere"), "cannot be read: No such file"),
}
TLS = "[server.tls]\ncert_file = '{cert}'\nkey_file = '{key}'\n"
KEYS = {
    "server.tls.cert_file": "[server.tls]\ncert_file = '{file}'",
    "server.tls.key_file": TLS.replace("{key}", "{file}"),
    "server.tls.client_ca_file": TLS + "client_ca_file = '{file}'",
    "server.auth.bearer_token_file": "[server.auth]\nbearer_token_file = '{file}'",
    "faults.rules_dirs": "[faults]\nstrict = true\nrules_dirs = ['{file}']",
    "kernel_log.patterns_dirs": "[faults]\nstrict = true\n[kernel_log]\npatterns_dirs = ['{file}']",
    "file in faults.rules_dirs": "[faults]\nstrict = true\nrules_dirs = ['{folder}']",
}
NAMED_IN = {"node_conditions.token_file", "node_conditions.ca_file"}


MEANT = {
    ("file in faults.rules_dirs", "missing"),
    ("faults.rules_dirs", "directory"),
    ("kernel_log.patterns_dirs", "directory"),
}
"""An empty folder of rules is as good as one with files in it."""


@pytest.mark.parametrize(
    ("key", "form"), [pair for pair in itertools.product(KEYS, FORMS) if pair not in MEANT]
)
def test_a_named_file_is_read_or_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, form: str
) -> None:
    """Whatever a name leads to, the program ends at once with exit code 2 and one line."""
    pair = Authority(tmp_path).sign("server")
    folder = tmp_path / "rules"
    folder.mkdir()
    file = folder / "it.toml"
    make, sentence = FORMS[form]
    make(file)
    config = tmp_path / "node.toml"
    config.write_text(KEYS[key].format(file=file, folder=folder, cert=pair.cert, key=pair.key))
    assert run_command(["--check-config", "--config", str(config)], {}) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{file}: {sentence}" in line


@pytest.mark.parametrize("form", FORMS)
def test_the_configuration_itself_is_such_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """`--config` may name anything; what is no file is one sentence."""
    make, sentence = FORMS[form]
    make(tmp_path / "node.toml")
    assert run_command(["--check-config", "--config", str(tmp_path / "node.toml")], {}) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"hw-exporter: {tmp_path / 'node.toml'}: {sentence}")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", ["token_file", "ca_file"])
async def test_files_for_kubernetes_are_such_files(tmp_path: Path, key: str, form: str) -> None:
    """Token and authorities are read at each request: what is no file is a refusal."""
    (tmp_path / "good").write_text("a-token")
    make, sentence = FORMS[form]
    make(tmp_path / "it")
    names = {"token_file": str(tmp_path / "good"), "ca_file": "", key: str(tmp_path / "it")}
    settings = NodeConditions(token_file=names["token_file"], ca_file=names["ca_file"])
    with pytest.raises(RequestFailed) as caught:
        await NodeApi(settings, "n1", DaemonThreads()).patch({"status": {}})
    assert str(caught.value).startswith(f"node_conditions.{key}: {tmp_path / 'it'}: {sentence}")


def test_links_are_followed(tmp_path: Path) -> None:
    """Kubernetes mounts secrets as links to links."""
    (tmp_path / "data").write_text("x")
    (tmp_path / "..data").symlink_to("data")
    (tmp_path / "token").symlink_to("..data")
    assert read_regular(tmp_path / "token", 10) == b"x"


@pytest.mark.parametrize("operation", ["getattr", "open", "read"])
@pytest.mark.system
def test_what_hangs_is_given_up_and_not_tried_again_meanwhile(
    stuck_files: StuckFiles, operation: str
) -> None:
    """A file of a dead network filesystem costs one deadline and one thread."""
    file = stuck_files.hang("token", operation)
    with pytest.raises(FileUnusable, match=r"no answer within 0.2 s"):
        read_regular(file, 10, deadline_secs=0.2)
    with pytest.raises(FileUnusable, match="its last reading has not ended yet"):
        read_regular(file, 10, deadline_secs=0.2)


def test_one_file_is_read_for_several_at_once(tmp_path: Path) -> None:
    """A reload meets the periodic reading of the same file: neither is refused."""
    file = tmp_path / "token"
    file.write_bytes(b"x")
    with ThreadPoolExecutor(3) as pool:  # more wait for each other too long on a busy machine
        contents = pool.map(lambda _: read_regular(file, 10), range(60))
        assert set(contents) == {b"x"}


def test_no_key_that_names_a_file_is_forgotten() -> None:
    """A new key whose name ends in `_file` gets its rows here."""
    config = Config()
    sections: dict[str, object] = {
        "server.tls": config.server.tls,
        "server.auth": config.server.auth,
        "node_conditions": config.node_conditions,
    }
    found = {
        f"{section}.{name}"
        for section, value in sections.items()
        for name in dir(value)
        if name.endswith("_file")
    }
    assert found == {key for key in (*KEYS, *NAMED_IN) if key.endswith("_file")}


HUGE = "9" * 5000


@pytest.mark.parametrize(
    "text",
    [
        f"[server]\nport = {HUGE}",
        f"[server]\nport = -{HUGE}",
        f"[server]\nport = {'9' * 400}",
        f"[server]\nrequest_timeout_secs = {'9' * 400}",
        f"[server]\nrequest_timeout_secs = {HUGE}.0",
        f"[gpu]\nsmi_paths = [{HUGE}]",
        f"[gpu]\nsmi_paths = [{'9' * 400}]",
        f"x = 0x{'f' * 5000}",
        f"[faults]\nstrict = true\nrules_dirs = ['{{rules}}']\n#{HUGE}",
    ],
    ids=lambda text: text[:40],
)
def test_a_number_of_thousands_of_digits_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """Python refuses to read or write such numbers; we say so in one short line."""
    rules = tmp_path / "rules.toml"
    rules.write_text(f"[[rule]]\nid = 'a'\nlasts = {HUGE}\n")
    config = tmp_path / "node.toml"
    config.write_text(text.replace("{rules}", str(rules)))
    assert run_command(["--check-config", "--config", str(config)], {}) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert len(line) < 300


@pytest.mark.parametrize("value", [HUGE, "9" * 400, f"[{HUGE}]", "[" * 5000, "1e999", "nan"])
@pytest.mark.parametrize(
    "key", ["SERVER__PORT", "SERVER__REQUEST_TIMEOUT_SECS", "SOURCES__ENABLED"]
)
def test_the_environment_may_hold_them_too(
    capsys: pytest.CaptureFixture[str], key: str, value: str
) -> None:
    """A variable is refused like a line of the file."""
    assert run_command(["--check-config"], {f"APP__{key}": value}) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert len(line) < 2000
