"""Remembers which components have worked before, over restarts and boots.

A component that is bad when the program starts is a fault only if it has ever worked.
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exporter.state import StateFile, dump

NAME = "known_good.json"
VERSION = 1
ANY_BOOT = "any"
MAX_KEYS = 1000


class KnownGood:
    """Stores keys of components that were good once; without a directory only in memory.

    Called from threads that may block.
    """

    def __init__(self, folder: Path | None = None, max_keys: int = MAX_KEYS) -> None:
        self._file = (
            StateFile(folder / NAME, ANY_BOOT, VERSION, outlasts_boots=True) if folder else None
        )
        self._max_keys = max_keys
        self._lock = threading.Lock()
        self._keys: set[str] | None = None

    def update(self, key: str, *, is_good: bool | None) -> bool:
        """Record the state of a component; return whether it is or ever was good."""
        with self._lock:
            if self._keys is None:
                self._keys = (self._file.load(self._decoded) if self._file else None) or set()
            is_new = is_good and key not in self._keys and len(self._keys) < self._max_keys
            if is_new:
                self._keys.add(key)
            if self._file is not None and is_new:
                self._file.save(dump({"keys": sorted(self._keys)}, ANY_BOOT, VERSION))
            elif self._file is not None:
                self._file.save_again()
            return key in self._keys

    def _decoded(self, document: Mapping[str, Any]) -> set[str]:
        keys = document["keys"]
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise TypeError("its keys are no texts")
        return set(keys[: self._max_keys])
