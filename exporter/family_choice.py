"""Which metric families are exported: the choice of `metrics.allow` and `metrics.deny`, by name."""

import logging
from collections.abc import Callable, Iterator
from functools import lru_cache

from exporter.collector import Collectors
from exporter.config import Config
from exporter.reading.device_filter import shown

OWN = "hw_exporter_"
"""How the names of the exporter's own families begin: whether it reads, and what it costs."""

MAX_NAMES = 4096
"""Names of families whose choice is remembered; external probes name families too."""

log = logging.getLogger("exporter")


def choice_of(config: Config, collectors: Collectors) -> Callable[[str], bool]:
    """Tell whether a family is exported, by its name in the text format; decided once per name.

    Log a warning for each pattern that matches no family.
    """
    for sentence in unmatched(config, collectors):
        log.warning("%s", sentence)
    allow, deny = config.metrics.allow, config.metrics.deny
    is_allowed = shown(("*",) if allow else (), (f"{OWN}*", *allow))
    is_left = shown(deny, (f"{OWN}*",))
    is_own_left = shown((pattern for pattern in deny if pattern.startswith(OWN)), ())
    off = config.families_off()

    @lru_cache(MAX_NAMES)
    def is_exported(name: str) -> bool:
        return name not in off and is_allowed(name) and is_left(name) and is_own_left(name)

    return is_exported


def unmatched(config: Config, collectors: Collectors) -> Iterator[str]:
    """Yield a sentence for each pattern that matches no family, also of no collector that is off.

    Nothing with external probes: they name families of their own.
    """
    if config.probes:
        return
    metrics = config.metrics
    for key, patterns in (("allow", metrics.allow), ("deny", metrics.deny)):
        for pattern in patterns:
            is_other = shown((pattern,), ())
            if all(map(is_other, _names(collectors))):
                sentence = "matches no metric family; docs/METRICS.md lists all"
                yield f'metrics.{key}: "{pattern}" {sentence}'


def _names(collectors: Collectors) -> Iterator[str]:
    """Yield all names; collectors that are off are imported only if no name before matches."""
    yield from collectors.names
    yield from collectors.all_rows().names
