"""Lines about processors and main memory: machine checks, firmware records (CPER), EDAC, pages.

Layouts are those of arch/x86/kernel/cpu/mce, drivers/firmware/efi/cper.c, drivers/edac/edac_mc.c
and mm/memory-failure.c from 4.15 to 6.16.
"""

from exporter.collectors.kernel_log.patterns.pattern import (
    NODE,
    Chosen,
    Fields,
    LinePattern,
    Role,
    Subject,
    on,
    on_node,
    rx,
)

CPU = on("cpu", "cpu")

_CPER = r"(?:\{(?P<record>\d{1,10})\})?\[Hardware Error\]:"


def _cper_subject(fields: Fields) -> Subject:
    """Return the device or the DIMM that the record names, else the node."""
    if "pci" in fields:
        return ("pcie", fields["pci"])
    if "dimm" in fields:
        return ("memory", fields["dimm"])
    return NODE


def _edac_subject(fields: Fields) -> Subject:
    """Return the DIMM by its label, else its controller."""
    label = fields.get("dimm", "")
    if label and label not in {"any memory", "unknown memory", "unknown label"}:
        return ("memory", label)
    return ("memory", f"mc{fields.get('controller', '')}")


def _refine_edac(fields: dict[str, str]) -> dict[str, str]:
    """Return the class in words: CE is corrected, UE is not."""
    fields["error_type"] = "corrected" if fields["error_type"] == "CE" else "uncorrected"
    fields["dimm"] = fields["dimm"].strip()
    return fields


UNCORRECTED_BIT = 61
"""Of the status of a bank, with AMD and Intel alike: the processor could not correct it."""


def _refine_status(fields: dict[str, str]) -> dict[str, str]:
    """Tell whether the bank's error was corrected, from the bit of its status."""
    is_uncorrected = int(fields["status"], 16) >> UNCORRECTED_BIT & 1 or fields.get("exception")
    fields["error_type"] = "uncorrected" if is_uncorrected else "corrected"
    return fields


_MACHINE_CHECKS = (
    LinePattern(
        "mce",
        "Machine check events logged",
        rx(r"(?:mce: )?\[Hardware Error\]: (?P<form>Machine check events logged)"),
        on_node,
    ),
    LinePattern(
        "mce",
        "Machine Check",
        rx(
            r"(?:mce: )?\[Hardware Error\]: CPU (?P<cpu>\d{1,5}): Machine Check"
            r"(?P<exception> Exception)?: [0-9a-f]{1,16} Bank (?P<bank>\d{1,3}): "
            r"(?P<status>[0-9a-f]{1,16})"
        ),
        CPU,
        refine=_refine_status,
        fields=("cpu", "bank", "status", "flags", "exception", "error_type"),
    ),
    LinePattern(
        "mce",
        "_STATUS[",
        rx(
            r"(?:mce: )?\[Hardware Error\]: CPU:(?P<cpu>\d{1,5}) \([0-9a-f:]{1,16}\) "
            r"MC(?P<bank>\d{1,3})_STATUS\[(?P<flags>[^\]]{0,80})\]: 0x(?P<status>[0-9a-f]{1,16})"
        ),
        CPU,
        refine=_refine_status,
        fields=("cpu", "bank", "status", "flags", "exception", "error_type"),
    ),
    LinePattern(
        "mce",
        "Uncorrected hardware memory error",
        rx(
            r"mce: (?P<form>Uncorrected hardware memory error) in user-access at "
            r"(?P<address>[0-9a-f]{1,16})"
        ),
        on_node,
    ),
)


def _refine_nmi(fields: dict[str, str]) -> dict[str, str]:
    """Return the error that a line for hardware errors reported, as a record would say it."""
    return fields | {"severity": "recoverable"}


_FIRMWARE_RECORDS = (
    LinePattern(
        "cper",
        "NMI: ",
        rx(
            r"NMI: (?P<section>PCI system error \(SERR\)|IOCK error) "
            r"(?:\(debug interrupt\?\) )?for reason [0-9a-f]{1,4} on CPU \d{1,5}\."
        ),
        on_node,
        refine=_refine_nmi,
        fields=("section", "severity"),
    ),
    LinePattern(
        "cper",
        "Hardware error from APEI",
        rx(
            _CPER
            + r" Hardware error from APEI Generic Hardware Error Source: (?P<error_source>\d+)"
        ),
        _cper_subject,
        role=Role.START,
    ),
    LinePattern(
        "cper",
        "event severity:",
        rx(_CPER + r"\s*event severity: (?P<severity>corrected|recoverable|fatal|info)"),
        _cper_subject,
        role=Role.JOIN,
        same="record",
        once="severity",
    ),
    LinePattern(
        "cper",
        "section",
        rx(_CPER + r"\s*section[_ ]type: (?P<section>[\w /-]{1,60})"),
        _cper_subject,
        role=Role.CONTINUATION,
        same="record",
        once="section",
    ),
    LinePattern(
        "cper",
        "device_id:",
        rx(_CPER + r"\s*device_id: (?P<pci>@PCI@)"),
        _cper_subject,
        role=Role.CONTINUATION,
        same="record",
        once="pci",
    ),
    LinePattern(
        "cper",
        "physical_address:",
        rx(_CPER + r"\s*physical_address: (?P<address>0x[0-9a-f]{1,16})"),
        _cper_subject,
        role=Role.CONTINUATION,
        same="record",
        once="address",
    ),
    LinePattern(
        "cper",
        "DIMM location:",
        rx(_CPER + r"\s*DIMM location: (?:not present|(?P<dimm>[^.]{1,80}))"),
        _cper_subject,
        role=Role.CONTINUATION,
        same="record",
        once="dimm",
    ),
)

_MEMORY = (
    LinePattern(
        "edac",
        "EDAC MC",
        rx(
            r"EDAC MC(?P<controller>\d{1,4}): (?P<count>\d{1,10}) (?P<error_type>CE|UE) "
            r"(?P<text>[^\[]{0,200}?) ?\bon (?P<dimm>[^(]{1,200})(?:\(|$)"
        ),
        _edac_subject,
        refine=_refine_edac,
    ),
    LinePattern(
        "page_offline",
        "recovery action for",
        rx(
            r"Memory failure: 0x(?P<pfn>[0-9a-f]{1,16}): recovery action for (?P<page>.{1,80}?): "
            r"(?P<verdict>Recovered|Delayed|Ignored|Failed)"
        ),
        on_node,
    ),
    LinePattern(
        "page_offline",
        "due to hardware memory corruption",
        rx(
            r"Memory failure: 0x(?P<pfn>[0-9a-f]{1,16}): (?:Sending SIGBUS to|Killing) "
            r"(?P<name>@COMM@):(?P<pid>\d{1,10}) due to hardware memory corruption"
        ),
        on_node,
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "page_offline",
        "oft offline: ",
        rx(r"[Ss]oft offline: 0x(?P<pfn>[0-9a-f]{1,16}): (?P<text>.*)"),
        on_node,
    ),
    LinePattern(
        "page_offline",
        "Soft offlining",
        rx(r"Soft offlining (?:pfn|page) 0x(?P<pfn>[0-9a-f]{1,16}) at"),
        on_node,
    ),
)

MEMORY: tuple[LinePattern, ...] = (*_MACHINE_CHECKS, *_FIRMWARE_RECORDS, *_MEMORY)
