"""The identity of this node: host name, os-release, kernel, uptime and the name of the processor.

https://www.freedesktop.org/software/systemd/man/latest/os-release.html
"""

from collections.abc import Callable
from pathlib import Path

from exporter.collectors.node.values import Host
from exporter.model.label import clean_text
from exporter.model.reading import Missing, Reading
from exporter.reading.files import MAX_FILE_BYTES, read_text
from exporter.reading.source import SourceFailed
from exporter.reading.sysfs import FieldReader

OS_RELEASE_NAMES = ("etc/os-release", "usr/lib/os-release")


class HostReader:
    """Reads names under the proc root and the root of the node, else our own os-release.

    `known_cpu_model` returns the model from py-cpuinfo, None until it is known.
    """

    def __init__(
        self,
        proc_root: Path,
        host_root: Path,
        hostname: str,
        known_cpu_model: Callable[[], str | None],
    ) -> None:
        self._proc = proc_root
        self._roots = (host_root, Path("/"))
        self._hostname = hostname
        self._known_cpu_model = known_cpu_model

    def read(self) -> Reading[Host]:
        """Read names and uptime of the node; raise SourceAbsent or SourceFailed without one."""
        release = self._os_release()
        host = Host(
            hostname=self._hostname,
            os_name=release.get("NAME"),
            os_version=release.get("VERSION_ID"),
            kernel_version=self._word("sys/kernel/osrelease"),
            cpu_model=self._known_cpu_model() or parse_cpu_model(self._text("cpuinfo")),
            uptime_secs=parse_uptime(read_text(self._proc / "uptime")),
        )
        names = ("os_name", "os_version", "kernel_version", "cpu_model")
        absent = [name for name in names if getattr(host, name) is None]
        return Reading(host, tuple(Missing(name, "not said by the system") for name in absent))

    def _os_release(self) -> dict[str, str]:
        """Read the first place that there is; none of them is required."""
        places = (root / name for root in self._roots for name in OS_RELEASE_NAMES)
        texts = (FieldReader().text("os_release", place, MAX_FILE_BYTES) for place in places)
        return next((parse_os_release(text) for text in texts if text is not None), {})

    def _text(self, name: str) -> str:
        """Read a file; empty if it cannot be read, which is reported as a missing field."""
        return FieldReader().text(name, self._proc / name, MAX_FILE_BYTES) or ""

    def _word(self, name: str) -> str | None:
        return clean_text(self._text(name)) or None


def parse_os_release(text: str) -> dict[str, str]:
    """Parse the variables of an os-release file, unquoted."""
    values = {}
    for line in text.split("\n"):
        name, separator, value = line.strip().partition("=")
        if separator and not name.startswith("#"):
            values[name] = clean_text(value.strip().strip("\"'"))
    return {name: value for name, value in values.items() if value}


def parse_cpu_model(cpuinfo: str) -> str | None:
    """Parse the name of the first processor; None if there is none, as on most Arm."""
    for line in cpuinfo.split("\n"):
        name, _, value = line.partition(":")
        if name.strip() in {"model name", "cpu model", "Model"}:
            return clean_text(value) or None
    return None


def parse_uptime(text: str) -> float:
    """Parse seconds since boot; raise SourceFailed."""
    try:
        return float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError) as error:
        raise SourceFailed("uptime is not a number") from error
