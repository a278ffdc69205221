"""Lines of the PCI Express core: error reporting (AER), containment (DPC), hot-plug, bandwidth.

Layouts are those of drivers/pci/pcie/aer.c, dpc.c and drivers/pci/hotplug/pciehp_ctrl.c from 4.15
to 6.16. AER prints one error in several lines: who reported it, what it was, which bits; they are
one event. The counters in sysfs are the truth where the kernel limits these prints.
"""

from collections.abc import Mapping

from exporter.model.event import EventType
from exporter.sources.kernel_log.patterns.pattern import Kind, Role, on, rx

DEVICE = on("pcie", "pci")
PORT = on("pcie", "port")

_CLASSES: Mapping[str, str] = {
    "Corrected": "corrected",
    "Correctable": "corrected",
    "Uncorrected (Non-Fatal)": "nonfatal",
    "Uncorrectable (Non-Fatal)": "nonfatal",
    "Uncorrected (Fatal)": "fatal",
    "Uncorrectable (Fatal)": "fatal",
}
_CLASS = r"(?P<severity>(?:Un)?[Cc]orrect(?:ed|able)(?: \((?:Non-)?Fatal\))?)"

_BITS = {
    "Receiver Error": "RxErr",
    "Bad TLP": "BadTLP",
    "Bad DLLP": "BadDLLP",
    "RELAY_NUM Rollover": "Rollover",
    "Replay Timer Timeout": "Timeout",
    "Advisory Non-Fatal": "NonFatalErr",
    "Data Link Protocol": "DLP",
    "Surprise Down Error": "SDES",
    "Poisoned TLP": "TLP",
    "Flow Control Protocol": "FCP",
    "Completion Timeout": "CmpltTO",
    "Completer Abort": "CmpltAbrt",
    "Unexpected Completion": "UnxCmplt",
    "Receiver Overflow": "RxOF",
    "Malformed TLP": "MalfTLP",
    "Unsupported Request": "UnsupReq",
    "ACS Violation": "ACSViol",
}
"""The long names of error bits that kernels before 5.2 print, and the short ones of today."""


def _refine_class(fields: dict[str, str]) -> dict[str, str]:
    """Severity as corrected, nonfatal or fatal, and the old id form as an address."""
    severity = fields.get("severity", "")
    fields["severity"] = _CLASSES.get(severity, "uncorrected")
    number = int(fields.pop("id", "0"), 16)
    if number:
        fields["pci"] = f"0000:{number >> 8:02x}:{number >> 3 & 0x1F:02x}.{number & 7}"
    return fields


def _refine_bit(fields: dict[str, str]) -> dict[str, str]:
    """The name of the bit in its short form."""
    name = fields["error"].strip()
    fields["error"] = _BITS.get(name, name)
    return fields


PCIE: tuple[Kind, ...] = (
    Kind(
        "pcie_aer",
        "AER: ",
        rx(
            r"pcieport (?P<port>@PCI@): AER: (?P<multiple>Multiple )?" + _CLASS + r" error "
            r"(?:message )?received(?: from|:) (?:(?P<pci>@PCI@)|id=(?P<id>[0-9a-f]{4}))"
        ),
        DEVICE,
        role=Role.START,
        refine=_refine_class,
    ),
    Kind(
        "pcie_aer",
        "PCIe Bus Error",
        rx(
            r"(?:[\w-]{1,40} )?(?P<pci>@PCI@): (?:AER: )?PCIe Bus Error: severity=" + _CLASS + r", "
            r"type=(?P<layer>[A-Za-z ]{1,30}?)(?: Layer)?,"
            r" (?:id=[0-9a-f]{4})?\((?P<agent>[A-Za-z ]{1,30}?)(?: ID)?\)"
        ),
        DEVICE,
        role=Role.JOIN,
        once="layer",
        refine=_refine_class,
    ),
    Kind(
        "pcie_aer",
        "error status/mask",
        rx(
            r"(?:[\w-]{1,40} )?(?P<pci>@PCI@): (?:AER: )?\s*"
            r"device \[(?P<ids>[0-9a-f]{4}:[0-9a-f]{4})\] "
            r"error status/mask=(?P<status>[0-9a-f]{8})/[0-9a-f]{8}"
        ),
        DEVICE,
        role=Role.MORE,
        same="pci",
    ),
    Kind(
        "pcie_aer",
        ":    [",
        rx(
            r"(?:[\w-]{1,40} )?(?P<pci>@PCI@): (?:AER: )?\s*\[ ?(?P<bit>\d{1,2})\] "
            r"(?P<error>[A-Za-z_][A-Za-z_ -]{1,30}?)\s*(?P<first>\(First\))?\s*$"
        ),
        DEVICE,
        role=Role.MORE,
        same="pci",
        refine=_refine_bit,
    ),
    Kind(
        "pcie_recovery_failed",
        "ecovery failed",
        rx(r"[\w-]{1,40} (?P<port>@PCI@): (?:AER: |DPC: )?[Dd]evice recovery failed"),
        PORT,
    ),
    Kind(
        "pcie_dpc",
        "containment event",
        rx(
            r"(?:pcieport|dpc) (?P<port>@PCI@)(?::pcie?\d+)?: (?:DPC:? )?containment event, "
            r"status:(?P<status>0x[0-9a-f]{1,8})"
        ),
        PORT,
    ),
    Kind(
        "pcie_link_down",
        "Slot(",
        rx(
            r"(?:pcieport|pciehp) (?P<port>@PCI@)(?::pcie?\d+)?: (?:pciehp: )?"
            r"Slot\((?P<slot>[\w-]{1,16})\): (?P<state>Link Down|Card not present)\s*$"
        ),
        PORT,
        EventType.TOPO_LINK_DOWN,
    ),
    Kind(
        "pcie_link_down",
        "Slot(",
        rx(
            r"(?:pcieport|pciehp) (?P<port>@PCI@)(?::pcie?\d+)?: (?:pciehp: )?"
            r"Slot\((?P<slot>[\w-]{1,16})\): (?P<state>Link Up|Card present)\s*$"
        ),
        PORT,
        EventType.TOPO_LINK_DOWN,
        role=Role.ENDED,
    ),
    Kind(
        "pcie_bandwidth_limited",
        "PCIe bandwidth, limited",
        rx(
            r"[\w-]{1,40} (?P<pci>@PCI@): (?P<gigabits>\d+\.\d+) Gb/s available PCIe bandwidth, "
            r"limited by (?P<limit>[^(]{1,60}) at (?P<port>@PCI@)"
            r"(?: \(capable of (?P<capable_gigabits>\d+\.\d+) Gb/s)?"
        ),
        DEVICE,
    ),
    Kind(
        "pcie_inaccessible",
        "power state",
        rx(
            r"[\w-]{1,40} (?P<pci>@PCI@): (?:Unable to|can't) change power state from "
            r"(?P<old>\w{2,10}) to \w{2,10},? \(?(?:device inaccessible|config space inaccessible)"
        ),
        DEVICE,
    ),
    Kind(
        "pcie_inaccessible",
        "Refused to change power state, currently in D3",
        rx(
            r"[\w-]{1,40} (?P<pci>@PCI@): Refused to change power state, "
            r"currently in (?P<old>D3\w*)"
        ),
        DEVICE,
    ),
)
