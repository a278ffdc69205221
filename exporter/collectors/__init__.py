"""All collectors: the one list, in the order of the metrics page.

A collector is imported when it is switched on, never before: a name here is a module beside this
file, or a folder with a module `collector`, and has a `COLLECTOR`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module

from exporter.annotation import TYPE_CHECKING

if TYPE_CHECKING:  # every probe imports this package, and needs nothing of what is named here
    from pathlib import Path

    from exporter.collector import Collector, Collectors, SourceRow
    from exporter.config import Config


def recorded_nodes() -> "Path":
    """Return the file of the nodes that recordings, tests and the demo begin with."""
    from pathlib import Path  # noqa: PLC0415 - not needed by probes

    return Path(__file__).parent / "recorded_nodes.json"


def always(_: "Config") -> bool:
    """Return True: switched on by every configuration."""
    return True


COLLECTORS: "Mapping[str, Callable[[Config], bool]]" = {
    "node": always,
    "cpu": always,
    "memory": always,
    "pressure": always,
    "processes": always,
    "clock": always,
    "kernel_files": lambda config: "kernel_files" in config.sources.enabled,
    "disk": always,
    "network": always,
    "pcie": always,
    "sensors": always,
    "gpu": always,
    "vendors": lambda config: config.gpu.backend == "auto",
    "xid_tracepoint": lambda config: "xid_tracepoint" in config.sources.enabled,
    "workloads": always,
    "sharing": lambda config: config.gpu.backend != "off",
    "ebpf": lambda config: config.ebpf.enabled,
    "detectors": lambda config: config.detectors.siblings or config.detectors.anomaly,
    "expect": lambda config: config.expect.is_on,
    "services": lambda config: config.metrics.enabled.services,
    "imex": lambda config: "imex" in config.sources.enabled,
    "external_probes": lambda config: bool(config.probes),
    "kernel_log": always,
    "exporter": always,
}
"""The names of all collectors, and whether a configuration switches each on."""


def chosen(config: "Config") -> "Collectors":
    """Import the collectors that this configuration switches on.

    Rules of the operator may use the words of all, so with such rules all are imported.
    Raises ValueError if `sources` names a source that no collector has.
    """
    collectors = _together(
        _configured(_load(name), config)
        for name, is_on in COLLECTORS.items()
        if is_on(config) or config.faults.rules_dirs
    )
    for name in (*config.sources.enabled, *config.sources.disabled):
        if name not in {row.name for row in collectors.sources}:
            _check_known(name, every().sources)
    return collectors


@cache
def every() -> "Collectors":
    """Import all collectors: for documents, for checks of rules, and for tests."""
    return _together(_load(name) for name in COLLECTORS)


def every_for(config: "Config") -> "Collectors":
    """Import all collectors, as this configuration wants them."""
    return _together(_configured(_load(name), config) for name in COLLECTORS)


def _together(collectors: "Iterable[Collector]") -> "Collectors":
    from exporter.collector import Collectors  # noqa: PLC0415 - not needed by probes

    return Collectors(tuple(collectors), recorded_nodes(), every)


def _load(name: str) -> "Collector":
    module = import_module(f"{__name__}.{name}")
    if hasattr(module, "__path__"):
        module = import_module(f"{__name__}.{name}.collector")
    collector: Collector = module.COLLECTOR
    return collector


def _configured(collector: "Collector", config: "Config") -> "Collector":
    return collector.configured(config) if collector.configured else collector


def _check_known(name: str, rows: "tuple[SourceRow, ...]") -> None:
    known = sorted(row.name for row in rows)
    if name not in known:
        raise ValueError(f"there is no source {name[:80]!r}; there are {', '.join(known)}")
