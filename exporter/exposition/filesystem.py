"""Families of filesystems."""

from collections.abc import Callable

from exporter.exposition.family import Family, Kind
from exporter.exposition.samples import of_each, without_zeros
from exporter.model.filesystem import Filesystem, Filesystems


def _family(
    name: str,
    help_text: str,
    value: Callable[[Filesystem], float | None],
    *,
    is_trouble: bool = False,
) -> Family:
    samples = of_each(
        Filesystems,
        lambda found: found.filesystems,
        lambda fs: (fs.device, fs.mountpoint, fs.fstype),
        value,
    )
    return Family(
        f"hw_filesystem_{name}",
        help_text,
        Kind.GAUGE,
        ("device", "mountpoint", "fstype"),
        without_zeros(samples, 4) if is_trouble else samples,
    )


FAMILIES = (
    _family("size_bytes", "Size.", lambda fs: fs.size_bytes),
    _family("free_bytes", "Room that is free.", lambda fs: fs.free_bytes),
    _family(
        "available_bytes",
        "Room that is free to users other than root.",
        lambda fs: fs.available_bytes,
    ),
    _family("files", "Files there can be, where their number is fixed.", lambda fs: fs.files),
    _family("files_free", "Files there can still be.", lambda fs: fs.files_free),
    _family(
        "readonly", "Whether it is mounted read-only.", lambda fs: fs.readonly, is_trouble=True
    ),
    _family(
        "unreachable",
        "Whether it does not answer, as when its server is gone.",
        lambda fs: fs.unreachable,
        is_trouble=True,
    ),
)
