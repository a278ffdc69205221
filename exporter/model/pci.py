"""PCI addresses, written in one way everywhere."""

import re

_ADDRESS = re.compile(
    r"(?:(?P<domain>[0-9a-f]{1,8}):)?(?P<bus>[0-9a-f]{1,2}):(?P<device>[0-9a-f]{1,2})"
    r"(?:\.(?P<function>[0-7]))?"
)


def pci_address(text: str) -> str | None:
    """The address as `dddd:bb:dd.f` in lower case, or None when the text is not one.

    Tools print the domain with 4 or 8 digits or leave it out, in either case; the lines of the
    NVIDIA driver have no function, which means function 0.
    """
    match = _ADDRESS.fullmatch(text.strip().lower())
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}.{function or 0}"
