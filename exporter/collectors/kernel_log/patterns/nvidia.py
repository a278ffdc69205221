"""Lines of the NVIDIA driver, of its switches, and of its fabric manager.

The layouts are those of the open driver's printf formats (R535 to R595); the address in the Xid
line has no function.
"""

from exporter.collectors.kernel_log.patterns.pattern import (
    Chosen,
    LinePattern,
    Role,
    on,
    on_node,
    rx,
)
from exporter.collectors.kernel_log.patterns.xid import GPU, XIDS

SWITCH = on("nvswitch", "pci")

_VERSION = r"\d{1,4}(?:\.\d{1,4}){1,3}"


_GPU_STATE = (
    LinePattern(
        "gpu_lost",
        "fallen off the bus",
        rx(r"NVRM: GPU (?P<pci>@PCI@): GPU has (?P<form>fallen off the bus)"),
        GPU,
        role=Role.START,
    ),
    LinePattern(
        "gpu_lost",
        "fallen off the bus",
        rx(r"NVRM: GPU at (?:PCI:)?(?P<pci>@PCI@) has (?P<form>fallen off the bus)"),
        GPU,
        role=Role.START,
    ),
    LinePattern(
        "gpu_lost",
        "GPU serial number is",
        rx(r"NVRM: GPU (?P<pci>@PCI@): GPU serial number is (?P<serial>\w{1,32})"),
        GPU,
        role=Role.CONTINUATION,
        same="pci",
    ),
    LinePattern(
        "gpu_lost",
        "The NVIDIA GPU",
        rx(
            r"NVRM: The NVIDIA GPU (?P<pci>@PCI@)(?:\s*\(PCI ID: (?P<ids>[0-9a-f:]{9})\))?"
            r"(?: installed in this system has (?P<form>fallen off the bus).*)?\s{0,8}$"
        ),
        GPU,
        role=Role.START,
        needs="form",
        is_head=True,
    ),
    LinePattern(
        "gpu_lost",
        "installed in this system has",
        rx(r"NVRM: \(PCI ID: (?P<ids>[0-9a-f:]{9})\) installed in this system has\s*$"),
        GPU,
        role=Role.CONTINUATION,
    ),
    LinePattern(
        "gpu_lost",
        "fallen off the bus",
        rx(r"NVRM: (?:installed in this system has )?(?P<form>fallen off the bus) and is not resp"),
        GPU,
        role=Role.CONTINUATION,
    ),
    LinePattern(
        "gpu_init_failed",
        "RmInitAdapter failed",
        rx(
            r"NVRM: (?:GPU (?P<pci>@PCI@): )?RmInitAdapter failed! ?"
            r"\((?P<init_code>0x[0-9a-f]+):(?P<init_status>0x[0-9a-f]+):(?P<init_line>\d+)\)"
        ),
        GPU,
        role=Role.START,
    ),
    LinePattern(
        "gpu_init_failed",
        "rm_init_adapter",
        rx(
            r"NVRM: (?:GPU (?P<pci>@PCI@): )?rm_init_adapter(?:\(\d+\))? failed"
            r"(?:,? .{0,20}minor number (?P<minor>\d+))?"
        ),
        GPU,
        role=Role.JOIN,
        same="pci",
    ),
    LinePattern(
        "gpu_probe_failed",
        "NVRM: The NVIDIA probe routine",
        rx(r"NVRM: The NVIDIA probe routine (?:failed|was not called) for (?P<count>\d+) device"),
        on_node,
        role=Role.START,
    ),
    LinePattern(
        "gpu_probe_failed",
        "NVRM: No",
        rx(
            r"NVRM: (?:No NVIDIA devices probed|No NVIDIA GPU found"
            r"|None of the NVIDIA [a-z ]{1,30} were init)"
        ),
        on_node,
        role=Role.JOIN,
    ),
    LinePattern(
        "gpu_probe_failed",
        "nvidia: probe of ",
        rx(r"nvidia: probe of (?P<pci>@PCI@) failed with error (?P<error>-?\d{1,5})"),
        GPU,
    ),
    LinePattern(
        "gpu_probe_failed",
        "probe with driver nvidia failed",
        rx(
            r"nvidia (?P<pci>@PCI@): probe with driver nvidia failed with error "
            r"(?P<error>-?\d{1,5})"
        ),
        GPU,
    ),
    LinePattern(
        "gpu_locked",
        "RC watchdog: ",
        rx(
            r"NVRM: (?:GPU(?P<index>\d{1,3}) )?(?:\w{1,60}: )?RC watchdog: GPU is probably locked!"
            r"(?:\s+Notify Timeout Seconds: (?P<seconds>\d{1,6}))?"
        ),
        on_node,
    ),
    LinePattern(
        "gpu_power_missing",
        "power cables",
        rx(r"NVRM: (?:GPU (?P<pci>@PCI@): )?[^\[]{0,40}does not have the necessary power cables"),
        GPU,
    ),
    LinePattern(
        "gpu_uuid",
        "NVRM: GPU at",
        rx(r"NVRM: GPU at (?:PCI:)?(?P<pci>@PCI@): (?P<uuid>GPU-[0-9a-f-]{36})\s*$"),
        GPU,
        role=Role.START,
    ),
    LinePattern(
        "gpu_uuid",
        "GPU Board Serial",
        rx(r"NVRM: GPU Board Serial Number: (?P<serial>\w{1,32})"),
        GPU,
        role=Role.CONTINUATION,
        once="serial",
    ),
    LinePattern(
        "nvlink_discovery_failed",
        "Rx Detect Link",
        rx(r"NVRM: (?:GPU\d+ )?\w{1,80}: Failed to update Rx Detect Link mask"),
        on_node,
    ),
    LinePattern(
        "nvlink_discovery_failed",
        "RxDetLinkMask",
        rx(r"NVRM: (?:GPU\d+ )?\w{1,80}: Getting peer(?P<peer>\d+)'s postRxDetLinkMask failed"),
        on_node,
    ),
)

_DRIVER = (
    LinePattern(
        "driver_version_mismatch",
        "API mismatch",
        rx(
            r"NVRM: API mismatch: the client (?:'(?P<client>@COMM@)' \(pid (?P<pid>\d{1,10})\)\s*$"
            rf"|has the version (?P<client_version>{_VERSION}))"
        ),
        on_node,
        role=Role.START,
        chosen=(Chosen.COMM,),
        is_head=True,
    ),
    LinePattern(
        "driver_version_mismatch",
        "has the version",
        rx(rf"NVRM: has the version (?P<client_version>{_VERSION}), but this kernel module has"),
        on_node,
        role=Role.CONTINUATION,
    ),
    LinePattern(
        "driver_version_mismatch",
        "NVRM: t",
        rx(rf"NVRM: (?:this kernel module has )?the version (?P<module_version>{_VERSION})\."),
        on_node,
        role=Role.CONTINUATION,
    ),
    LinePattern(
        "driver_loaded",
        "NVRM: loading NVIDIA",
        rx(rf"NVRM: loading NVIDIA UNIX .{{0,40}}?Kernel Module.{{0,40}}? (?P<version>{_VERSION})"),
        on_node,
    ),
    LinePattern(
        "driver_no_memory",
        "NV_ERR_NO_MEMORY",
        rx(r"NVRM: [^\[]{0,900}\[?NV_ERR_NO_MEMORY"),
        on_node,
    ),
    LinePattern(
        "uvm_fatal_error",
        "global fatal error",
        rx(r"NVRM: (?:\w{1,60}: )?uvm encountered global fatal error (?P<status>0x[0-9a-f]{1,8})"),
        on_node,
    ),
    LinePattern(
        "peermem_error",
        "nvidia-peermem",
        rx(r"nvidia-peermem(?:| \w{1,64}:\d{1,6}|:) ERROR detected invalid context"),
        on_node,
    ),
)

_SWITCHES = (
    LinePattern(
        "sxid",
        "SXid",
        rx(
            r"nvidia-nvswitch(?P<switch>\d{1,4}): SXid \((?:PCI:)?(?P<pci>@PCI@)\): "
            r"(?P<code>\d{1,6}), (?!Severity \d|Data \{)"
            r"(?:(?P<severity>Fatal|Non-fatal|Correctable), )?"
            r"(?:Link (?P<link>\d{1,3}) )?(?P<text>.*)"
        ),
        SWITCH,
    ),
    LinePattern(
        "fabric_manager_error",
        "detected NVSwitch",
        rx(
            r"(?:\[[^\]]{1,40}\] ?){0,4}detected NVSwitch (?P<severity>fatal|non-fatal) error "
            r"(?P<code>\d{1,6}) on fid \d+ on NVSwitch pci bus id (?P<pci>@PCI@)"
            r"(?: physical id (?P<switch>\d+))?(?: port (?P<link>\d+))?"
        ),
        SWITCH,
    ),
    LinePattern(
        "fabric_manager_error",
        "system topology",
        rx(
            r"(?:\[[^\]]{1,40}\] ?){0,4}(?P<text>detected number of NVSwitches don't match with any"
            r" supported system topology.*)"
        ),
        on_node,
    ),
    LinePattern(
        "fabric_manager_error",
        "multicast team",
        rx(
            r"(?:\[[^\]]{1,40}\] ?){0,4}(?P<text>failed to find the GPU handle (?P<handle>\d+) in"
            r" the multicast team.*)"
        ),
        on_node,
    ),
)

NVIDIA: tuple[LinePattern, ...] = (*XIDS, *_GPU_STATE, *_DRIVER, *_SWITCHES)
