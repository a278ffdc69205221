"""Addresses on the PCI bus, as sysfs writes them: domain, bus, device, function."""

import os
import re
from pathlib import Path

ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def is_pci_address(name: str) -> bool:
    """Whether the name of a folder is an address on the PCI bus."""
    return ADDRESS.fullmatch(name) is not None


def addresses_in(path: str) -> list[str]:
    """The addresses in a path of sysfs, the one nearest to the processor first."""
    return [part for part in path.split("/") if is_pci_address(part)]


def pci_address_of(link: Path) -> str | None:
    """The PCI device behind a `device` link, also one below it; None where there is none."""
    try:
        target = os.path.realpath(link, strict=True)
    except OSError:
        return None  # nothing behind it, or it has just gone
    addresses = addresses_in(target)
    return addresses[-1] if addresses else None
