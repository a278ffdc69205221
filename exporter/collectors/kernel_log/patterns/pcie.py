"""Lines of the PCI Express core: error reporting (AER), containment (DPC), hot-plug, bandwidth.

Layouts are those of drivers/pci/pcie/aer.c, dpc.c and drivers/pci/hotplug/pciehp_ctrl.c from 4.15
to 6.16. AER prints one error in several lines: who reported it, what it was, which bits; they are
one event. The counters in sysfs are the truth where the kernel limits these prints.
"""

from collections.abc import Mapping

from exporter.collectors.kernel_log.patterns.pattern import LinePattern, Role, on, on_node, rx

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
    """Name the severity corrected, nonfatal or fatal, and write the old id form as an address."""
    severity = fields.get("severity", "")
    fields["severity"] = _CLASSES.get(severity, "uncorrected")
    number = int(fields.pop("id", "0"), 16)
    if number:
        fields["pci"] = f"0000:{number >> 8:02x}:{number >> 3 & 0x1F:02x}.{number & 7}"
    return fields


def _refine_bit(fields: dict[str, str]) -> dict[str, str]:
    """Return the name of the bit in its short form."""
    name = fields["error"].strip()
    fields["error"] = _BITS.get(name, name)
    return fields


def _refine_requester(fields: dict[str, str]) -> dict[str, str]:
    """Name the device that the IOMMU stopped as `pci`, however its address was printed."""
    if "device" in fields:
        fields["pci"] = fields.pop("device").replace("0x", "")
    return fields


PCIE: tuple[LinePattern, ...] = (
    LinePattern(
        "pcie_aer",
        "AER: ",
        rx(
            r"pcieport (?P<port>@PCI@): AER: (?P<multiple>Multiple )?" + _CLASS + r" error "
            r"(?:message )?received(?: from|:) (?:(?P<pci>@PCI@)|id=(?P<id>[0-9a-f]{4}))"
        ),
        DEVICE,
        role=Role.START,
        refine=_refine_class,
        fields=("port", "multiple", "severity", "pci"),
    ),
    LinePattern(
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
    LinePattern(
        "pcie_aer",
        "error status/mask",
        rx(
            r"(?:[\w-]{1,40} )?(?P<pci>@PCI@): (?:AER: )?\s*"
            r"device \[(?P<ids>[0-9a-f]{4}:[0-9a-f]{4})\] "
            r"error status/mask=(?P<status>[0-9a-f]{8})/[0-9a-f]{8}"
        ),
        DEVICE,
        role=Role.CONTINUATION,
        same="pci",
    ),
    LinePattern(
        "pcie_aer",
        ":    [",
        rx(
            r"(?:[\w-]{1,40} )?(?P<pci>@PCI@): (?:AER: )?\s*\[ ?(?P<bit>\d{1,2})\] "
            r"(?P<error>[A-Za-z_][A-Za-z_ -]{1,30}?)\s{0,40}(?:(?P<first>\(First\))\s{0,8})?$"
        ),
        DEVICE,
        role=Role.CONTINUATION,
        same="pci",
        refine=_refine_bit,
    ),
    LinePattern(
        "pcie_recovery_failed",
        "ecovery failed",
        rx(r"[\w-]{1,40} (?P<port>@PCI@): (?:AER: |DPC: )?[Dd]evice recovery failed"),
        PORT,
    ),
    LinePattern(
        "pcie_dpc",
        "containment event",
        rx(
            r"(?:pcieport|dpc) (?P<port>@PCI@)(?::pcie?\d+)?: (?:DPC:? )?containment event, "
            r"status:(?P<status>0x[0-9a-f]{1,8})"
        ),
        PORT,
    ),
    LinePattern(
        "pcie_link_down",
        "Slot(",
        rx(
            r"(?:pcieport|pciehp) (?P<port>@PCI@)(?::pcie?\d+)?: (?:pciehp: )?"
            r"Slot\((?P<slot>[\w-]{1,16})\): (?P<state>Link Down|Card not present)(?: event)?\s*$"
        ),
        PORT,
    ),
    LinePattern(
        "pcie_link_down",
        "Slot(",
        rx(
            r"(?:pcieport|pciehp) (?P<port>@PCI@)(?::pcie?\d+)?: (?:pciehp: )?"
            r"Slot\((?P<slot>[\w-]{1,16})\): (?P<state>Link Up|Card present)(?: event)?\s*$"
        ),
        PORT,
        role=Role.ENDED,
    ),
    LinePattern(
        "pcie_link_down",
        "pciehp: ",
        rx(
            r"pcieport (?P<port>@PCI@): pciehp: Slot\((?P<slot>[\w-]{1,16})\): "
            r"(?P<state>Cannot train link|Failed to check link status)"
        ),
        PORT,
    ),
    LinePattern(
        "pcie_power_fault",
        "Power fault",
        rx(
            r"(?:pcieport|pciehp) (?P<port>@PCI@)(?::pcie?\d+)?: (?:pciehp: )?"
            r"(?:Slot\((?P<slot>[\w-]{1,16})\): )?Power fault\b"
        ),
        PORT,
    ),
    LinePattern(
        "slot_power_off",
        "ower",
        rx(
            r"(?:pcieport|pciehp) (?P<port>@PCI@)(?::pcie?\d+)?: (?:pciehp: )?"
            r"Slot\((?P<slot>[\w-]{1,16})\): "
            r"(?:Button press: will power off in \d{1,4} sec|Powering off due to button press)"
        ),
        on_node,
    ),
    LinePattern(
        "iommu_fault",
        "IO_PAGE_FAULT",
        rx(
            r"(?:iommu ivhd\d{1,3}: |[\w-]{1,40} (?P<pci>@PCI@): )?"
            r"AMD-Vi: Event logged \[IO_PAGE_FAULT "
            r"(?:device=(?P<device>[0-9a-f:.]{5,16}) )?domain=(?P<domain>0x[0-9a-f]{1,8}) "
            r"address=(?P<address>0x[0-9a-f]{1,16}) flags=(?P<flags>0x[0-9a-f]{1,8})"
        ),
        DEVICE,
        refine=_refine_requester,
        fields=("pci", "operation", "domain", "address", "flags", "reason", "text"),
    ),
    LinePattern(
        "iommu_fault",
        "AMD-Vi: Event logged [I",
        rx(
            r"(?:iommu ivhd\d{1,3}: )?AMD-Vi: Event logged "
            r"\[(?P<reason>ILLEGAL_DEV_TABLE_ENTRY|INVALID_DEVICE_REQUEST) "
            r"device=(?P<device>[0-9a-f:.]{5,16}) (?:pasid=0x[0-9a-f]{1,8} )?"
            r"address=(?P<address>0x[0-9a-f]{1,16}) flags=(?P<flags>0x[0-9a-f]{1,8})"
        ),
        DEVICE,
        refine=_refine_requester,
        fields=("pci", "operation", "domain", "address", "flags", "reason", "text"),
    ),
    LinePattern(
        "iommu_fault",
        "fault addr",
        rx(
            r"DMAR: ?\[(?P<operation>DMA Read|DMA Write|INTR-REMAP)(?: \w{1,20}){0,2}\] "
            r"Request device \[(?P<device>[0-9a-fx:.]{5,24})\](?: PASID [0-9a-f]{1,8})? "
            r"fault (?:addr|index) (?P<address>(?:0x)?[0-9a-f]{1,16}) "
            r"\[fault reason (?P<reason>(?:0x)?[0-9a-f]{1,4})\](?P<text>.{0,120})"
        ),
        DEVICE,
        refine=_refine_requester,
        fields=("pci", "operation", "domain", "address", "flags", "reason", "text"),
    ),
    LinePattern(
        "iommu_fault",
        "arm-smmu-v3",
        rx(
            r"arm-smmu-v3 [\w.-]{1,40}: event: (?P<reason>F_\w{1,24}) client: (?P<pci>@PCI@) "
            r"sid: 0x[0-9a-f]{1,8}(?: ssid: 0x[0-9a-f]{1,8})? iova: (?P<address>0x[0-9a-f]{1,16})"
        ),
        DEVICE,
    ),
    LinePattern(
        "pcie_bandwidth_limited",
        "PCIe bandwidth, limited",
        rx(
            r"[\w-]{1,40} (?P<pci>@PCI@): (?P<gigabits>\d+\.\d+) Gb/s available PCIe bandwidth, "
            r"limited by (?P<limit>[^(]{1,60}) at (?P<port>@PCI@)"
            r"(?: \(capable of (?P<capable_gigabits>\d+\.\d+) Gb/s)?"
        ),
        DEVICE,
    ),
    LinePattern(
        "pcie_inaccessible",
        "power state",
        rx(
            r"[\w-]{1,40} (?P<pci>@PCI@): (?:Unable to|can't) change power state from "
            r"(?P<old>\w{2,10}) to \w{2,10},? \(?(?:device inaccessible|config space inaccessible)"
        ),
        DEVICE,
    ),
    LinePattern(
        "pcie_inaccessible",
        "; giving up",
        rx(
            r"[\w-]{1,40} (?P<pci>@PCI@): not ready \d{1,8}ms after "
            r"(?P<after>[\w >-]{2,20}); giving up"
        ),
        DEVICE,
    ),
    LinePattern(
        "pcie_inaccessible",
        "Refused to change power state, currently in D3",
        rx(
            r"[\w-]{1,40} (?P<pci>@PCI@): Refused to change power state, "
            r"currently in (?P<old>D3\w*)"
        ),
        DEVICE,
    ),
)
