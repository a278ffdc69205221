"""A fake libnvidia-ml.so.1 with its scenario, its call log and its events."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.program import wait_for

CAPTURES = Path(__file__).parent.parent / "captures"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the library: the function, the card (`-`, `1`, `1.mig.0`), when."""

    function: str
    card: str
    monotonic_ns: int


class NvmlLibrary:
    """One scenario for the fake library, in files of its own.

    `environment` is what a process needs to load the fake instead of a driver's library.
    """

    def __init__(self, library_dir: Path, folder: Path) -> None:
        self.library_dir = library_dir
        self.scenario = folder / "cards.scenario"
        self.log = folder / "calls.log"
        self.events = folder / "events"
        self.events.touch()
        self.say()

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make a new process use this library, scenario, log and events."""
        return {
            "LD_LIBRARY_PATH": str(self.library_dir),
            "FAKE_NVML_SCENARIO": str(self.scenario),
            "FAKE_NVML_LOG": str(self.log),
            "FAKE_NVML_EVENTS": str(self.events),
        }

    def say(self, *lines: str, capture: str | None = None) -> None:
        """Replace the scenario: the lines of a capture (by file name), then these."""
        write_scenario(self.scenario, lines, capture)

    def calls(self, function: str | None = None, card: str | None = None) -> list[Call]:
        """The calls made so far, of one function or of one card where one is named."""
        text = self.log.read_text() if self.log.exists() else ""
        calls = [_call(line) for line in text.splitlines()]
        return [
            call
            for call in calls
            if function in (None, call.function) and card in (None, call.card)
        ]

    def wait_for_call(self, function: str, count: int) -> None:
        """Come back when a process has made this call so often; fail after 20 seconds."""
        wait_for(lambda: len(self.calls(function)) >= count, f"{count} calls of {function}")

    def raise_xid(self, xid: int, card: int = 0, instances: str = "") -> None:
        """Let the driver report this Xid to whoever waits for events by now."""
        with self.events.open("a") as file:
            file.write(f"{card} xid {xid} {instances}\n")


def write_scenario(path: Path, lines: Iterable[str], capture: str | None = None) -> None:
    """Write a scenario in one step, so that nobody reads half of it."""
    included = [f"include = {CAPTURES / capture}"] if capture else []
    scratch = path.with_suffix(".new")
    scratch.write_text("\n".join((*included, *lines, "")))
    scratch.replace(path)


def _call(line: str) -> Call:
    function, card, moment = line.split()
    return Call(function, card, int(moment))
