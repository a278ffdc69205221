"""Who we are, as the command line and the environment say it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """What the program is told about itself by its command line and environment."""

    version: str
    node: str
    hostname: str
    child_environment: Mapping[str, str]
