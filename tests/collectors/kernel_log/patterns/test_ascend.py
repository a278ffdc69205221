"""Lines of the Ascend driver."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event

AT = "[ascend] [drv_pcie] [devdrv_sync_non_trans_msg_send 1239] "

CASES: tuple[Case, ...] = (
    (
        "npu_abnormal",
        ("node", ""),
        {"device": "5"},
        AT + "<kworker/u385:0:15232:15232> Device is abnormal. (dev_id=5; msg_type=3)",
    ),
    (
        "npu_abnormal",
        ("node", ""),
        {"device": "12"},
        AT + "<python3:4711,4712> Device is abnormal. (dev_id=12; msg_type=3; common_type=5)",
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_an_abnormal_device_is_one_event(case: Case) -> None:
    """The number is the driver's, and the event is about the node: the line has no address."""
    expect_one_event(*case)


REFRESH = "[ascend] [devdrv] [devdrv_refresh_aicore_info_work 322] <kworker/u385:0:15232> "
FREED = "[ascend] [devmm] [devmm_free_svm_proc 276] <kworker/1:1:38608,38608> "
RELEASED = "[ascend] [davinci_intf] [drv_davinci_intf_sub_call_release 348] <davinci:42401> "


@pytest.mark.parametrize(
    "line",
    [
        REFRESH + "devdrv_manager_send_msg unsuccessful. (ret=-19; dev_id=5)",
        FREED + "Devmm_free_process details. (hostpid=-1; devid=64)",
        RELEASED + 'Release module success. (module_name="DMS"; pid=42394)',
        AT + "<a:1:1> Device is normal. (dev_id=5; msg_type=3)",
        "Device is abnormal. (dev_id=5; msg_type=3)",
        "[rknpu] [drv_pcie] [f 1] <a:1:1> Device is abnormal. (dev_id=5)",
    ],
)
def test_other_words_of_the_driver_are_no_event(line: str) -> None:
    """Its chatter, and what has another beginning, say nothing."""
    assert events_of(line) == ()
