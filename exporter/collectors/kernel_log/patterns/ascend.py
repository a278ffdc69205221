"""Lines of the Ascend driver, in the layout of public recordings: module, function, process."""

from exporter.collectors.kernel_log.patterns.pattern import Chosen, LinePattern, on_node, rx

ASCEND = (
    LinePattern(
        "npu_abnormal",
        "Device is abnormal. (dev_id=",
        rx(
            r"\[ascend\] \[drv_pcie\] \[\w{1,64} \d{1,6}\] "
            r"<@COMM@:\d{1,10}(?:[:,]\d{1,10})?> Device is abnormal\. "
            r"\(dev_id=(?P<device>\d{1,4})[;)]"
        ),
        on_node,
        chosen=(Chosen.COMM,),
    ),
)
"""All rows of this module."""
