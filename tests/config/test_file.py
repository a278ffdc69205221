"""Configuration: every layer, and every mistake in one sentence."""

from pathlib import Path
from typing import Any

import pytest

from exporter.config import Config
from exporter.config.file import (
    ConfigError,
    Layer,
    environment_layer,
    file_layers,
    load,
    read_file,
)

ROOT = Path(__file__).resolve().parents[2]


def _written(folder: Path, text: str | bytes) -> str:
    path = folder / "node.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_the_shipped_file_says_the_built_in_defaults() -> None:
    """`config/default.toml` changes nothing."""
    assert load([read_file(ROOT / "config/default.toml")]) == Config()


def test_later_layers_win(tmp_path: Path) -> None:
    """Defaults, then the file, then the environment, then flags."""
    path = _written(tmp_path, "[server]\nhost = '127.0.0.1'\nport = 1\n[gpu]\ntimeout_secs = 3")
    config = load(
        [
            *file_layers(path),
            environment_layer({"APP__SERVER__PORT": "2", "APP__GPU__BACKEND": "nvml", "X": "y"}),
            Layer("command line", {"server": {"port": 3}}),
        ]
    )
    assert (config.server.host, config.server.port) == ("127.0.0.1", 3)
    assert (config.gpu.timeout_secs, config.gpu.backend) == (3.0, "nvml")
    assert config.metrics.collect_interval_secs == 15.0


@pytest.mark.parametrize(
    ("name", "text", "section", "key", "value"),
    [
        ("APP__METRICS__COLLECT_INTERVAL_SECS", "0.5", "metrics", "collect_interval_secs", 0.5),
        ("APP__KERNEL_LOG__ENABLED", "false", "kernel_log", "enabled", False),
        ("APP__KERNEL_LOG__ENABLED", "True", "kernel_log", "enabled", True),
        ("APP__SOURCES__DISABLED", "cpu, memory", "sources", "disabled", ("cpu", "memory")),
        ("APP__SOURCES__DISABLED", '["a,b", "c"]', "sources", "disabled", ("a,b", "c")),
        ("APP__SOURCES__DISABLED", "", "sources", "disabled", ()),
        ("APP__STATE__DIR", "5", "state", "dir", "5"),
    ],
)
def test_the_environment_speaks_every_type(
    name: str, text: str, section: str, key: str, value: object
) -> None:
    """Numbers, switches, texts, and lists as a TOML array or words between commas."""
    config = load([environment_layer({name: text})])
    assert getattr(getattr(config, section), key) == value


def test_tables_of_names_are_texts() -> None:
    """`server.auth.basic_users` maps names to hashes."""
    config = load([Layer("f", {"server": {"auth": {"basic_users": {"ann": "$2b$"}}}})])
    assert config.server.auth.basic_users == {"ann": "$2b$"}


def test_probes_are_a_list_of_tables() -> None:
    """Each is checked like a section."""
    probe = {"name": "npu", "command": ["/opt/npu.py"], "mode": "interval", "every": "5m"}
    (found,) = load([Layer("f", {"probes": [probe]})]).probes
    assert (found.name, found.command) == ("npu", ("/opt/npu.py",))
    assert (found.every, found.deadline) == ("5m", "10s")


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"sever": {}}, 'f: unknown key "sever"; did you mean server?'),
    ({"server": {"prot": 1}}, 'f: unknown key "server.prot"; did you mean port?'),
    ({"metrics": {"enabled": {"gpus": True}}}, "did you mean gpu?"),
    ({"server": 5}, 'f: server is "5", but must be a table'),
    ({"server": {"port": "80"}}, 'f: server.port is "80", but must be a whole number'),
    ({"server": {"port": 80.5}}, "but must be a whole number"),
    ({"server": {"port": True}}, "but must be a whole number"),
    ({"server": {"request_timeout_secs": True}}, 'f: server.request_timeout_secs is "True", but'),
    ({"gpu": {"timeout_secs": False}}, "but must be a number"),
    ({"server": {"port": -1}}, 'f: server.port is "-1", but must be at least 0'),
    ({"server": {"port": 65536}}, "but must be at most 65535"),
    ({"server": {"host": 1}}, "but must be a text"),
    ({"server": {"host": "a\0b"}}, "but must be a text without NUL"),
    ({"metrics": {"collect_interval_secs": 0}}, "but must be at least 0.1"),
    ({"metrics": {"collect_interval_secs": float("nan")}}, "but must be a finite number"),
    ({"metrics": {"collect_interval_secs": float("inf")}}, "but must be a finite number"),
    ({"metrics": {"enabled": {"gpu": 1}}}, "but must be true or false"),
    ({"gpu": {"backend": "dcgm"}}, "must be one of auto, nvml, nvidia-smi, demo, off"),
    (
        {"processes": {"redact": ["pod", "pods"]}},
        "must be one of process, namespace, pod, container",
    ),
    ({"gpu": {"cache_ttl_secs": 301}}, "but must be at most 300"),
    ({"gpu": {"smi_paths": "/usr/bin"}}, "but must be a list"),
    ({"gpu": {"smi_paths": [1]}}, 'f: gpu.smi_paths[0] is "1", but must be a text'),
    (
        {"expect": {"slots": ["gpu 0", "cpu"]}},
        'f: expect.slots[1] is "cpu", but must be a component',
    ),
    ({"sources": {"services": ["a"] * 33}}, 'services is "a list of 33", but must be at most 32'),
    ({"probes": {"name": "x"}}, "but must be a list"),
    ({"probes": [{"nmae": "x"}]}, 'f: unknown key "probes[0].nmae"; did you mean name?'),
    (
        {"probes": [{"name": "x", "command": ["/x"], "every": "soon"}]},
        "must be a number with ms, s",
    ),
    (
        {"probes": [{"name": "x", "command": ["/x"], "every": "0s"}]},
        "must be a number with ms, s",
    ),
    ({"probes": [{"command": ["/x"]}]}, 'probes[0].name is "", but must be unique'),
    ({"probes": [{"name": "x", "command": ["/x"]}] * 2}, "but must be unique"),
    ({"probes": [{"name": "x"}]}, "must begin with the absolute path of a program"),
    ({"probes": [{"name": "x", "command": ["npu.py"]}]}, "must begin with the absolute path"),
    ({"server": {"auth": {"basic_users": {"a": 1}}}}, "must be a table of texts"),
]


@pytest.mark.parametrize(("table", "sentence"), MISTAKES)
def test_a_mistake_names_place_key_and_what_is_allowed(
    table: dict[str, Any], sentence: str
) -> None:
    """One sentence says where it is, what was found, and what is allowed."""
    with pytest.raises(ConfigError) as caught:
        load([Layer("f", table)])
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[server\nport = 1", "is not valid TOML"),
        ("port = ", "is not valid TOML"),
        (b"\xff\xfe", "is not UTF-8 text (byte 0)"),
        ("a = 1\na = 2", "is not valid TOML"),
        ("x = " + "[" * 100_000, "is not valid TOML"),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    """The file is named, whatever is wrong with its text."""
    path = _written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_file(Path(path))
    assert sentence in str(caught.value)
    assert path in str(caught.value)


@pytest.mark.parametrize("name", ["not there", "."])
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path, name: str) -> None:
    """A named file must be there and be a file."""
    with pytest.raises(ConfigError, match="cannot be read"):
        file_layers(str(tmp_path / name))


def test_a_variable_in_the_way_of_a_section_is_named() -> None:
    """`APP__SERVER` cannot be a value when `APP__SERVER__PORT` is one too."""
    with pytest.raises(ConfigError, match="SERVER__PORT: server is a value, not a section"):
        environment_layer({"APP__SERVER": "x", "APP__SERVER__PORT": "1"})


@pytest.mark.parametrize("pattern", ["", "a" * 129, "eth[0", "a\nb"])
def test_a_pattern_that_cannot_match_a_name_is_refused(pattern: str) -> None:
    """The place in the list is named."""
    layer = Layer("test", {"devices": {"network_exclude": ["lo", pattern]}})
    with pytest.raises(ConfigError, match=r"devices.network_exclude\[1\] is .* but must be a name"):
        load([layer])


def test_patterns_come_from_the_environment_too() -> None:
    """Words between commas, as every list."""
    layer = environment_layer({"APP__DEVICES__DISK_EXCLUDE": "loop*, sd[ab]"})
    assert load([layer]).devices.disk_exclude == ("loop*", "sd[ab]")
