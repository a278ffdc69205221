"""Cards in sysfs, built in a folder from the files of cards.toml."""

from collections.abc import Mapping
from pathlib import Path


def put_card(
    sys_root: Path, driver: str, address: str, files: Mapping[str, str | bytes | None]
) -> Path:
    """Write files of a card that this driver is bound to; one that is None is taken away."""
    folder = sys_root / "bus/pci/devices" / address
    for name, content in files.items():
        file = folder / name
        if content is None:
            file.unlink(missing_ok=True)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    link = sys_root / "bus/pci/drivers" / driver / address
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(f"../../devices/{address}")
    return folder
