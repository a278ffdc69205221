"""Lines of the AMD driver amdgpu and of its compute driver.

The layouts are those of the kernel's printf formats from 5.3 to 6.18 (amdgpu_job.c,
amdgpu_device.c, amdgpu_ras.c, gmc_v9_0.c, mes_v12_0.c). Up to 6.8 a ring timeout names no
device: the reset that follows it does.
"""

from exporter.collectors.kernel_log.patterns.pattern import Chosen, LinePattern, Role, on, rx

GPU = on("gpu", "pci")

_DEVICE = r"amdgpu (?P<pci>@PCI@): (?:amdgpu: )?(?:\[drm\] (?:\*ERROR\* )?)?"
_JOB = r"(?:\[drm:amdgpu_job_timedout \[amdgpu\]\] \*ERROR\* |" + _DEVICE + ")"
_PROCESS = r"process (?P<name>@COMM@) pid (?P<pid>\d{1,10}) thread (?P<thread>@COMM@) pid \d{1,10}"
_RAS = r"(?:\{\d{1,20}\} ?)?(?:socket: (?P<socket>\d{1,3}),? (?:die: (?P<die>\d{1,3}),? )?)?"

_RING = (
    LinePattern(
        "gpu_ring_timeout",
        "timeout, signaled seq=",
        rx(_JOB + r"ring (?P<ring>[\w.]{1,32}) timeout, signaled seq=\d{1,10}, emitted seq="),
        GPU,
        role=Role.START,
    ),
    LinePattern(
        "gpu_ring_timeout",
        "unsuccessful queues preemption",
        rx(
            r"amdgpu: The (?P<ring>cp) might be in an unrecoverable state due to an unsuccessful "
            r"queues preemption"
        ),
        GPU,
        role=Role.START,
    ),
    LinePattern(
        "gpu_ring_timeout",
        "Process information: process ",
        rx(_JOB + "Process information: " + _PROCESS + r"\s*$"),
        GPU,
        role=Role.CONTINUATION,
        same="pci",
        once="pid",
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "gpu_ring_timeout",
        "GPU reset begin!",
        rx(_DEVICE + r"GPU reset begin!(?:\. Source: {1,3}(?P<source>\d{1,3}))?"),
        GPU,
        role=Role.CONTINUATION,
        same="pci",
    ),
)

_RESET = (
    LinePattern(
        "gpu_reset",
        "succeeded!",
        rx(_DEVICE + r"GPU reset\((?P<count>\d{1,10})\) succeeded!"),
        GPU,
    ),
    LinePattern(
        "gpu_reset",
        " reset succeeded",
        rx(_DEVICE + r"Ring (?P<ring>[\w.]{1,32}) reset succeeded"),
        GPU,
    ),
    LinePattern(
        "gpu_reset_failed",
        "GPU reset(",
        rx(_DEVICE + r"GPU reset\(\d{1,10}\) failed(?: with error (?P<result>-?\d{1,5}))?"),
        GPU,
        role=Role.START,
    ),
    LinePattern(
        "gpu_reset_failed",
        "GPU reset end with ret = ",
        rx(_DEVICE + r"GPU reset end with ret = (?P<result>-\d{1,5})"),
        GPU,
        role=Role.JOIN,
        same="pci",
    ),
    LinePattern(
        "gpu_reset_failed",
        "GPU Recovery Failed: ",
        rx(
            r"(?:\[drm:amdgpu_job_timedout \[amdgpu\]\] \*ERROR\* |"
            + _DEVICE
            + r")GPU Recovery Failed: (?P<result>-?\d{1,5})"
        ),
        GPU,
        role=Role.JOIN,
        same="pci",
    ),
    LinePattern(
        "gpu_lost", "device lost from bus!", rx(_DEVICE + r"device (?P<form>lost from bus)!"), GPU
    ),
)

_MEMORY = (
    LinePattern(
        "gpu_ras_uncorrected",
        "uncorrectable hardware errors detected in",
        rx(
            _DEVICE
            + _RAS
            + r"(?P<count>[1-9]\d{0,15}) (?:new )?uncorrectable hardware errors detected in "
            r"(?P<block>(?!total )\w{1,24}) block"
        ),
        GPU,
    ),
    LinePattern(
        "gpu_ras_uncorrected",
        "(ERREVENT_ATHUB_INTERRUPT) detected!",
        rx(
            _DEVICE
            + r"(?:\{\d{1,20}\} ?)?[Uu]ncorrectable hardware error ?\((?P<block>ERREVENT_ATHUB"
            r"_INTERRUPT)\) detected!"
        ),
        GPU,
    ),
    LinePattern(
        "gpu_ras_uncorrected",
        "poison ",
        rx(_DEVICE + r"(?:RAS poison consumption, |poison is consumed by client )"),
        GPU,
    ),
    LinePattern(
        "gpu_bad_page_threshold",
        "exceed threshold:",
        rx(_DEVICE + r"RAS records:(?P<count>\d{1,10}) exceed threshold:(?P<threshold>\d{1,10})"),
        GPU,
    ),
    LinePattern(
        "gpu_bad_page_threshold",
        " reaches threshold value",
        rx(
            _DEVICE + r"Saved bad pages ?\(?(?P<count>\d{1,10})\)? reaches threshold value ?\(?"
            r"(?P<threshold>\d{1,10})"
        ),
        GPU,
    ),
    LinePattern(
        "gpu_bad_page_threshold",
        "BAD status",
        rx(_DEVICE + r"This GPU is in BAD status"),
        GPU,
    ),
    LinePattern(
        "gpu_bad_page_threshold",
        "bad_page_threshold parameter",
        rx(_DEVICE + r"Exceeding the bad_page_threshold parameter"),
        GPU,
    ),
    LinePattern(
        "gpu_page_fault",
        "page fault (src_id:",
        rx(
            _DEVICE + r"\[(?P<hub>\w{1,12})\] (?:(?:no-)?retry )?page fault \(src_id:\d{1,10} "
            r"ring:\d{1,10} vmid:\d{1,10} pasid:\d{1,10}(?:\)|, for " + _PROCESS + r"\))\s*$"
        ),
        GPU,
        role=Role.START,
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "gpu_page_fault",
        "Process ",
        rx(_DEVICE + " {0,2}P" + _PROCESS.removeprefix("p") + r"\s*$"),
        GPU,
        role=Role.CONTINUATION,
        same="pci",
        once="pid",
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "gpu_page_fault",
        "in page starting at address ",
        rx(_DEVICE + r" {0,2}in page starting at address (?P<address>0x[0-9a-f]{1,16}) from "),
        GPU,
        role=Role.CONTINUATION,
        same="pci",
        once="address",
    ),
)

_START = (
    LinePattern(
        "gpu_init_failed",
        "Fatal error during GPU init",
        rx(_DEVICE + r"Fatal error during GPU init"),
        GPU,
    ),
    LinePattern(
        "gpu_probe_failed",
        "amdgpu: probe of ",
        rx(r"amdgpu: probe of (?P<pci>@PCI@) failed with error (?P<error>-?\d{1,5})"),
        GPU,
    ),
    LinePattern(
        "gpu_probe_failed",
        "probe with driver amdgpu failed",
        rx(
            r"amdgpu (?P<pci>@PCI@): probe with driver amdgpu failed with error "
            r"(?P<error>-?\d{1,5})"
        ),
        GPU,
    ),
    LinePattern(
        "gpu_firmware_timeout",
        "failed to respond to msg=",
        rx(
            _DEVICE + r"(?P<firmware>MES)(?:\(\d\))? failed to respond to msg=(?P<message>\w{1,40})"
        ),
        GPU,
    ),
    LinePattern(
        "gpu_firmware_timeout",
        "SMU",
        rx(
            _DEVICE + r"(?P<firmware>SMU)(?:: I'm not done with your previous command"
            r"| is in hanged state, failed to send smu message)"
        ),
        GPU,
    ),
    LinePattern(
        "gpu_firmware_timeout",
        "unsuccessful queues preemption",
        rx(
            _DEVICE + r"The (?P<firmware>cp) might be in an unrecoverable state due to an unsuccess"
        ),
        GPU,
    ),
)

AMDGPU = (*_RING, *_RESET, *_MEMORY, *_START)
"""All rows of this module."""
