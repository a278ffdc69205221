"""Batches as bpftrace prints them, for tests."""

from typing import Any

from exporter.collectors.ebpf.batch import Batch


def batch(**maps: dict[str, Any]) -> Batch:
    """A batch of these maps, named without the sign in front."""
    return Batch({f"@{name}": entries for name, entries in maps.items()})
