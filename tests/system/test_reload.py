"""A reload while the exporter is scraped: what it takes over, and what it refuses."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.program import Answer, Program, value_of, wait_for

pytestmark = pytest.mark.system

SUCCESSFUL = "hw_exporter_config_last_reload_successful"
SUCCEEDED_AT = "hw_exporter_config_last_reload_success_timestamp_seconds"
TOKEN = "correct-horse-battery"
RULE = """
[actions]
look = "Look."

[[rule]]
id = "site_rule"
entity = "node"
when = "memory_total_bytes > {least}"
severity = "info"
summary = "The node has memory"
action = "look"
"""
LINE = """
[kinds."error.hw"]
site_line = "Something of this site."

[[line]]
kind = "site_line"
contains = "site"
pattern = 'site: (?P<device>[a-z]{1,8}) failed'
"""
NO_FILES: Mapping[str, str] = MappingProxyType({})
GOOD = {"rules.toml": RULE.format(least=0), "lines.toml": LINE, "token": TOKEN}


@dataclass(frozen=True, slots=True)
class Site:
    """The program with files of its operator, and the configuration that it was started with."""

    program: Program
    folder: Path
    configuration: str

    def write(self, *more: str, files: Mapping[str, str] = NO_FILES) -> None:
        """Write all files well, but those that are given, and `more` lines of the configuration."""
        config = "\n".join((self.configuration, *more))
        for name, text in {"program.toml": config, **GOOD, **files}.items():
            (self.folder / name).write_text(text)

    def reload(self) -> Answer:
        """What a reload answers."""
        return self.program.get("/-/reload", method="POST", Authorization=f"Bearer {TOKEN}")

    def page(self, token: str = TOKEN) -> str:
        """The page as the token allows."""
        return self.program.get("/metrics", Authorization=f"Bearer {token}").text


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The program, with a rule, a pattern and a token of its operator."""
    folder = tmp_path_factory.mktemp("site")
    for name, text in GOOD.items():
        (folder / name).write_text(text)
    changes: dict[str, dict[str, Any]] = {
        "metrics": {"collect_interval_secs": 0.3},
        "faults": {"rules_dirs": [str(folder / "rules.toml")]},
        "kernel_log": {"patterns_dirs": [str(folder / "lines.toml")]},
        "server": {"auth.bearer_token_file": str(folder / "token")},
    }
    with Program(folder, changes) as program:
        found = Site(program, folder, (folder / "program.toml").read_text())
        wait_for(lambda: _has_fault(found), "the rule to fire")
        yield found


def _has_fault(site: Site, severity: str = "info") -> bool:
    return f'fault="site_rule",severity="{severity}"' in site.page()


@contextmanager
def _scraped(site: Site) -> Iterator[Callable[[], int]]:
    """Scrape all the time; every answer must be the page."""
    statuses: list[int] = []
    ended = threading.Event()

    def scrape() -> None:
        while not ended.is_set():
            answer = site.program.get("/metrics", Authorization=f"Bearer {TOKEN}")
            statuses.append(answer.status if b"hw_node_info" in answer.body else 0)

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield lambda: len(statuses)
    finally:
        ended.set()
        thread.join()
    assert set(statuses) == {200}


def _wrong_rule(old: str, new: str) -> dict[str, str]:
    return {"rules.toml": RULE.format(least=0).replace(old, new)}


MISTAKES: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "no TOML": (("this is no TOML",), {}, "program.toml"),
    "an unknown key": (("[state]\ndirectory = '/x'",), {}, "state.directory"),
    "a wrong type": (("[processes]\ntop_n = 'many'",), {}, "processes.top_n"),
    "a severity of no rule": (("[faults.severity]\nno_rule = 'info'",), {}, "no_rule"),
    "rules that are no TOML": ((), {"rules.toml": "[[rule"}, "rules.toml"),
    "a rule without condition": ((), _wrong_rule("when = ", "# "), "when"),
    "a wrong condition": ((), _wrong_rule("> 0", "> > 0"), "when"),
    "lines that are no TOML": ((), {"lines.toml": "[[line"}, "lines.toml"),
    "a wrong pattern": ((), {"lines.toml": LINE.replace("[a-z]{1,8}", "[a-z")}, "pattern"),
    "a slow pattern": ((), {"lines.toml": LINE.replace("[a-z]{1,8}", "([a-z]+)+")}, "pattern"),
    "an empty token": ((), {"token": ""}, "token"),
}
"""What is written wrongly in each file, and the word by which the answer names the place."""

BY_SIGNAL = ("no TOML", "a rule without condition", "a slow pattern", "an empty token")
"""One mistake of each file: SIGHUP does the same as the request."""


@pytest.mark.parametrize(
    ("name", "by"),
    [*((name, "POST") for name in MISTAKES), *((name, "SIGHUP") for name in BY_SIGNAL)],
)
def test_a_mistake_keeps_what_was(site: Site, name: str, by: str) -> None:
    """It is said in one sentence and on the page; rules and tokens stay; no scrape fails."""
    more, files, word = MISTAKES[name]
    site.write(*more, files=files)
    with _scraped(site) as scrapes:
        error = _refused(site) if by == "POST" else _refused_hangup(site)
        before = scrapes()
        wait_for(lambda: scrapes() > before + 2, "further scrapes")
    assert word in error
    assert "\n" not in error
    wait_for(lambda: value_of(site.page(), SUCCESSFUL) == 0, "the page to say so")
    assert _has_fault(site)
    site.write()
    assert site.reload().status == 200
    wait_for(lambda: value_of(site.page(), SUCCESSFUL) == 1, "the page to say so")


def _refused(site: Site) -> str:
    """Return the sentence of the answer."""
    answer = site.reload()
    assert answer.status == 400, answer.text
    error: str = answer.document["error"]
    return error


def _refused_hangup(site: Site) -> str:
    """Return the sentence in the log."""
    before = len(_refusals(site))
    site.program.process.send_signal(signal.SIGHUP)
    return wait_for(lambda: _refusals(site)[before:], "the log to say so")[0]


def _refusals(site: Site) -> list[str]:
    lines = (line["message"] for line in site.program.log_lines)
    return [line for line in lines if "was not reloaded: " in line]


def test_a_severity_and_a_threshold_change_without_a_gap(site: Site) -> None:
    """The fault goes on with its new severity; with a threshold above the value it ends."""
    since = "hw_fault_since_timestamp_seconds"
    site.write()
    assert site.reload().document == {"status": "ok", "needs_restart": []}
    wait_for(lambda: _has_fault(site), "the fault")
    began = value_of(site.page(), since)
    with _scraped(site):
        site.write("[faults.severity]\nsite_rule = 'warning'")
        assert site.reload().status == 200
        wait_for(lambda: _has_fault(site, "warning"), "the new severity")
        assert value_of(site.page(), since) == began
        site.write(files={"rules.toml": RULE.format(least=2**60)})
        assert site.reload().status == 200
        wait_for(lambda: not _has_fault(site), "the fault to end")


def test_a_reload_ends_the_mistakes_of_the_start(tmp_path: Path) -> None:
    """A rule file that was wrong at the start and is mended is no longer a problem."""
    rules = tmp_path / "rules.toml"
    rules.write_text("[nonsense]\n")
    with Program(tmp_path, {"faults": {"rules_dirs": [str(rules)]}}) as program:
        program.page_with("hw_node_info")
        assert "rules.toml" in program.get("/doctor").text
        rules.write_text(GOOD["rules.toml"])
        assert program.get("/-/reload", method="POST").status == 200
        assert "rules.toml" not in program.get("/doctor").text


def test_what_needs_a_restart_is_named(site: Site) -> None:
    """A key that cannot change now is in the answer, and the rest is taken."""
    site.write("[processes]\ntop_n = 7")
    assert site.reload().document == {"status": "ok", "needs_restart": ["processes.top_n"]}


def test_a_hangup_is_a_reload(site: Site) -> None:
    """SIGHUP does the same as the request; a sentence says what needs a restart."""
    site.write()
    assert site.reload().status == 200
    before = value_of(site.page(), SUCCEEDED_AT) or 0
    for token in (f"{TOKEN}-2", TOKEN):
        site.write(files={"token": token})
        site.program.process.send_signal(signal.SIGHUP)
        wait_for(lambda: (value_of(site.page(token), SUCCEEDED_AT) or 0) > before, "the reload")  # noqa: B023 - it is waited for here
    assert "other keys need a restart" in site.program.log_file.read_text()


def test_nobody_else_may_reload(site: Site) -> None:
    """A request that came through a proxy is refused, as one that only reads."""
    token = {"Authorization": f"Bearer {TOKEN}"}
    refused = site.program.get("/-/reload", method="POST", X_Forwarded_For="10.0.0.1", **token)
    assert (refused.status, site.program.get("/-/reload", **token).status) == (403, 405)
