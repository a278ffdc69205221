"""Lines about adapters of disks: their firmware, their resets, the volumes they make.

Layouts are those of drivers/scsi (megaraid_sas, mpt3sas, mpi3mr, smartpqi, hpsa, aacraid) from
4.15 to 6.18.
"""

from exporter.collectors.kernel_log.patterns.pattern import LinePattern, Role, on, on_node, rx

_MEGARAID = r"megaraid_sas (?P<pci>@PCI@): "
_MEGARAID_EVENT = _MEGARAID + r"\d{1,10} \((?:boot \+ )?\d{1,12}s/0x[0-9a-f]{4}/[A-Z]{2,8}\) - "
"""An event of the controller: number, time, locale, class."""

_FAULTS = (
    LinePattern(
        "storage_controller_fault",
        "FW in FAULT state",
        rx(
            r"(?:megaraid_sas (?P<pci>@PCI@)|megasas): (?:Found )?FW in FAULT state"
            r"(?: Fault code:(?P<code>0x[0-9a-f]{1,8}))?"
        ),
        on("pcie", "pci"),
    ),
    LinePattern(
        "storage_controller_fault",
        "FW detected to be",
        rx(r"megaraid_sas(?: (?P<pci>@PCI@))?: (?P<text>FW detected to be in fault ?state)"),
        on("pcie", "pci"),
    ),
    LinePattern(
        "storage_controller_fault",
        "killing adapter",
        rx(r"megaraid_sas (?P<pci>@PCI@): (?P<text>Reset (?:not supported|failed), killing adapt)"),
        on("pcie", "pci"),
    ),
    LinePattern(
        "storage_controller_fault",
        "smartpqi",
        rx(
            r"smartpqi (?P<pci>@PCI@): (?P<text>controller (?:is )?offline)"
            r"(?:: status code (?P<code>0x[0-9a-f]{1,8}))?"
        ),
        on("pcie", "pci"),
    ),
    LinePattern(
        "storage_controller_fault",
        "hpsa",
        rx(r"hpsa (?P<pci>@PCI@): (?P<text>Controller lockup detected: (?P<code>0x[0-9a-f]{1,8}))"),
        on("pcie", "pci"),
    ),
    LinePattern(
        "storage_controller_fault",
        "Reset successful",
        rx(r"megaraid_sas (?P<pci>@PCI@): Reset successful"),
        on("pcie", "pci"),
        role=Role.ENDED,
    ),
    LinePattern(
        "storage_controller_fault",
        "sas_cm",
        rx(
            r"(?P<controller>mpt[23]sas_cm\d{1,3}): (?:\w{1,40}: )?(?:fault_state\((?P<code>0x"
            r"[0-9a-f]{1,8})\)|(?P<text>SAS host is non-operational))"
        ),
        on_node,
    ),
    LinePattern(
        "storage_controller_fault",
        "diag reset: SUCCESS",
        rx(r"(?P<controller>mpt[23]sas_cm\d{1,3}): (?:\w{1,40}: )?diag reset: SUCCESS"),
        on_node,
        role=Role.ENDED,
    ),
    LinePattern(
        "storage_controller_fault",
        "megaraid_sas",
        rx(
            _MEGARAID + r"(?P<text>FW state \[-?\d{1,12}\] hasn't changed in|Init cmd return status"
            r" FAILED|Failed from megasas_init_fw)"
        ),
        on("pcie", "pci"),
    ),
    LinePattern(
        "storage_controller_fault",
        "diag reset: FAILED",
        rx(r"(?P<controller>mpt[23]sas_cm\d{1,3}): (?:\w{1,40}: )?(?P<text>diag reset: FAILED)"),
        on_node,
    ),
    LinePattern(
        "storage_controller_fault",
        "mpi3mr",
        rx(
            r"(?P<controller>mpi3mr\d{1,3}): (?:fault code\((?P<code>0x[0-9a-fA-F]{1,8})\): "
            r"|(?P<text>controller reset is failed))"
        ),
        on_node,
    ),
    LinePattern(
        "storage_controller_fault",
        "controller reset is successful",
        rx(r"(?P<controller>mpi3mr\d{1,3}): controller reset is successful"),
        on_node,
        role=Role.ENDED,
    ),
    LinePattern(
        "storage_controller_fault",
        "reset failed",
        rx(r"aacraid (?P<pci>@PCI@): (?P<text>(?:IOP|SOFT) reset failed)"),
        on("pcie", "pci"),
    ),
    LinePattern(
        "storage_controller_fault",
        "adapter kernel panic",
        rx(r"(?P<controller>AAC\d{1,3}): (?P<text>adapter kernel panic'd) (?P<code>\w{1,12})"),
        on_node,
    ),
    LinePattern(
        "storage_controller_fault",
        "reset succeeded",
        rx(r"aacraid (?P<pci>@PCI@): (?:IOP|SOFT) reset succeeded"),
        on("pcie", "pci"),
        role=Role.ENDED,
    ),
)

_RAID = (
    LinePattern(
        "storage_controller_reset",
        "SCSI hang ?",
        rx(r"aacraid: (?P<text>Host (?:bus|adapter) reset request)\. SCSI hang \?"),
        on("pcie", "pci"),
        role=Role.START,
    ),
    LinePattern(
        "storage_controller_reset",
        "outstanding cmd: ",
        rx(r"aacraid (?P<pci>@PCI@): outstanding cmd: "),
        on("pcie", "pci"),
        role=Role.CONTINUATION,
        once="pci",
    ),
    LinePattern(
        "storage_controller_reset",
        "Controller reset type is",
        rx(r"aacraid (?P<pci>@PCI@): (?P<text>Controller reset) type is \d"),
        on("pcie", "pci"),
        role=Role.JOIN,
        same="pci",
    ),
    LinePattern(
        "storage_controller_reset",
        "pending commands remain",
        rx(_MEGARAID + r"(?P<text>pending commands remain after waiting), will reset adapter"),
        on("pcie", "pci"),
    ),
    LinePattern(
        "storage_controller_reset",
        "atal ",
        rx(
            _MEGARAID_EVENT + r"(?P<text>Controller encountered a fatal error and was reset"
            r"|Fatal firmware error)"
        ),
        on("pcie", "pci"),
    ),
    LinePattern(
        "raid_volume_degraded",
        " is now ",
        rx(
            _MEGARAID_EVENT + r"VD (?P<volume>[0-9a-f]{2}/[0-9a-f]{1,3}) is now "
            r"(?P<state>(?:PARTIALLY )?DEGRADED|OFFLINE)"
        ),
        on("pcie", "pci"),
    ),
    LinePattern(
        "raid_volume_degraded",
        " is now OPTIMAL",
        rx(_MEGARAID_EVENT + r"VD (?P<volume>[0-9a-f]{2}/[0-9a-f]{1,3}) is now OPTIMAL"),
        on("pcie", "pci"),
        role=Role.ENDED,
    ),
)

STORAGE_ADAPTERS: tuple[LinePattern, ...] = (*_FAULTS, *_RAID)
