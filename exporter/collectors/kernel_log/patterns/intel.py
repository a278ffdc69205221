"""Lines of Intel's drivers xe and i915 about cards; the graphics of a processor are no GPU.

Layouts are those of drivers/gpu/drm/xe (xe_guc_submit.c, xe_gt.c, xe_device.c) and of
drivers/gpu/drm/i915/i915_gpu_error.c from 5.10 to 6.18.
"""

from exporter.collectors.kernel_log.patterns.pattern import Chosen, LinePattern, Role, on, rx

GPU = on("gpu", "pci")

_CARD = r"(?P<pci>(?!0000:00:02\.0)@PCI@)"
_XE = rf"xe {_CARD}: \[drm\] (?:\*ERROR\* )?(?:Tile\d{{1,2}}: )?(?:GT\d{{1,2}}: )?"

INTEL = (
    LinePattern(
        "gpu_ring_timeout",
        "Engine reset: engine_class=",
        rx(_XE + r"Engine reset: engine_class=(?P<ring>\w{1,16}), "),
        GPU,
        role=Role.START,
    ),
    LinePattern(
        "gpu_ring_timeout",
        "Timedout job: seqno=",
        rx(
            _XE + r"Timedout job: seqno=\d{1,10}, (?:.{1,80} in "
            r"(?:no process|(?P<name>@COMM@)) \[(?P<pid>-?\d{1,10})\]"
            r"|(?:lrc_seqno=\d{1,10}, )?guc_id=\d{1,6}, flags=0x[0-9a-f]{1,8})\s*$"
        ),
        GPU,
        role=Role.JOIN,
        same="pci",
        once="pid",
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "gpu_ring_timeout",
        "GPU HANG: ecode ",
        rx(
            rf"i915 {_CARD}: \[drm\] GPU HANG: ecode (?P<ring>\d{{1,2}}:\d{{1,2}}):[0-9a-f]{{1,8}}"
            r"(?:, in (?P<name>@COMM@) \[(?P<pid>\d{1,10})\])?"
        ),
        GPU,
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "gpu_reset_failed",
        "Failed to reset chip",
        rx(rf"i915 {_CARD}: \[drm\] \*ERROR\* (?:GT\d{{1,2}}: )?(?P<state>Failed to reset) chip"),
        GPU,
    ),
    LinePattern(
        "gpu_reset_failed",
        "reset failed (",
        rx(_XE + r"reset failed \((?P<result>-?\w{1,16})\)"),
        GPU,
        role=Role.START,
    ),
    LinePattern(
        "gpu_reset_failed",
        " as wedged",
        rx(_XE + r"CRITICAL: Xe has declared device @PCI@ as (?P<state>wedged)"),
        GPU,
        role=Role.JOIN,
        same="pci",
        is_head=True,
    ),
    LinePattern(
        "gpu_probe_failed",
        " failed with error ",
        rx(
            rf"(?:(?:xe|i915): probe of {_CARD}"
            r"|(?:xe|i915) (?P<address>(?!0000:00:02\.0)@PCI@): probe with driver (?:xe|i915))"
            r" failed with error (?P<error>-?\d{1,5})"
        ),
        GPU,
        refine=lambda fields: fields | {"pci": fields.pop("address", fields.get("pci", ""))},
        fields=("pci", "error"),
    ),
)
"""All rows of this module."""
