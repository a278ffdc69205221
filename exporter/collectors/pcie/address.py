"""How PCI addresses are written."""

import os
import re
from functools import lru_cache

_ADDRESS = re.compile(
    r"(?:(?P<domain>[0-9a-f]{1,8}):)?(?P<bus>[0-9a-f]{1,2}):(?P<device>[0-9a-f]{1,2})"
    r"(?:\.(?P<function>[0-7]))?"
)

_SUBFUNCTION = re.compile(r"\w+\.sf\.\d+")
_SYSFS_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@lru_cache(maxsize=512)
def pci_address(text: str | None) -> str | None:
    """Write the address as `dddd:bb:dd.f` in lower case, or None when the text is not one.

    Tools print the domain with 4 or 8 digits or leave it out, in either case; the lines of the
    NVIDIA driver have no function, which means function 0.
    """
    match = _ADDRESS.fullmatch(text.strip().lower()) if text else None
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}.{function or 0}"


def is_pci_address(name: str) -> bool:
    """Tell whether a name is an address as sysfs writes them."""
    return _SYSFS_ADDRESS.fullmatch(name) is not None


def addresses_in(path: str) -> list[str]:
    """Find the addresses in a path of sysfs, the one nearest to the processor first."""
    return [part for part in path.split("/") if is_pci_address(part)]


def pci_address_of(link: str | os.PathLike[str]) -> str | None:
    """Find the PCI device behind a `device` link, also one below it; None where there is none."""
    try:
        name = os.readlink(link).rpartition("/")[2]  # noqa: PTH115 - a probe imports no pathlib
        if is_pci_address(name) and os.path.exists(link):  # noqa: PTH110 - same
            return name  # as nearly always; the whole path takes a call for each of its parts
        addresses = addresses_in(os.path.realpath(link, strict=True))
    except OSError:
        return None  # nothing behind it, or it has just gone
    return addresses[-1] if addresses else None


def is_subfunction(link: str | os.PathLike[str]) -> bool:
    """Tell whether a `device` link leads to a subfunction of an adapter: mlx5_core.sf.4.

    https://docs.kernel.org/networking/devlink/devlink-port.html#subfunction
    """
    return _SUBFUNCTION.fullmatch(os.path.realpath(link).rpartition("/")[2]) is not None
