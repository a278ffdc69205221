"""Lines about adapters of disks."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event, only_event

NODE = ("node", "")
MEGARAID, AACRAID = "megaraid_sas 0000:18:00.0: ", "aacraid 0000:84:00.0: "

CASES: tuple[Case, ...] = (
    (
        "storage_controller_fault",
        ("pcie", "0000:18:00.0"),
        {"text": "FW state [-268435456] hasn't changed in"},
        MEGARAID + "FW state [-268435456] hasn't changed in 180 secs",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:18:00.0"),
        {"text": "Init cmd return status FAILED"},
        MEGARAID + "Init cmd return status FAILED for SCSI host 0",
    ),
    (
        "storage_controller_fault",
        NODE,
        {"controller": "mpt2sas_cm0", "text": "diag reset: FAILED"},
        "mpt2sas_cm0: diag reset: FAILED",
    ),
    (
        "storage_controller_fault",
        NODE,
        {"controller": "mpi3mr0", "code": "0x0000F002"},
        "mpi3mr0: fault code(0x0000F002): Additional code: (0x00000000:0x00000000:0x00000000)",
    ),
    (
        "storage_controller_fault",
        NODE,
        {"controller": "mpi3mr0", "text": "controller reset is failed"},
        "mpi3mr0: controller reset is failed",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:84:00.0"),
        {"text": "IOP reset failed"},
        AACRAID + "IOP reset failed",
    ),
    (
        "storage_controller_fault",
        NODE,
        {"controller": "AAC0", "code": "0x12"},
        "AAC0: adapter kernel panic'd 0x12.",
    ),
    (
        "storage_controller_reset",
        ("pcie", "0000:84:00.0"),
        {"text": "Controller reset"},
        (
            "aacraid: Host bus reset request. SCSI hang ?",
            AACRAID + "outstanding cmd: midlevel-0",
            AACRAID + "outstanding cmd: lowlevel-0",
            AACRAID + "Controller reset type is 3",
        ),
    ),
    (
        "storage_controller_reset",
        NODE,
        {"text": "Host adapter reset request"},
        "aacraid: Host adapter reset request. SCSI hang ?",
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_an_error_of_an_adapter_is_one_event(case: Case) -> None:
    """The lines of one reset are one event."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line", ["mpi3mr0: controller reset is successful", AACRAID + "IOP reset succeeded"]
)
def test_a_reset_that_worked_ends_the_fault(line: str) -> None:
    """The driver says when the adapter is back."""
    event = only_event(line)
    assert (event.kind, event.fields["ended"]) == ("storage_controller_fault", "yes")


@pytest.mark.parametrize(
    "line",
    [
        "mpt3sas_cm0: sending diag reset !!",
        "mpt3sas_cm0: log_info(0x31110e03): originator(PL), code(0x11), sub_code(0x0e03)",
        "mpi3mr0: issuing soft reset to the controller",
        MEGARAID + "Init cmd success",
        MEGARAID + "Adapter is OPERATIONAL for scsi:0",
        AACRAID + "Issuing IOP reset",
        AACRAID + "outstanding cmd: midlevel-0",
        "smartpqi 0000:65:00.0: reset of scsi 0:1:0:0: SUCCESS",
    ],
)
def test_routine_of_adapters_is_no_event(line: str) -> None:
    """Resets at a boot, and what follows a fault."""
    assert events_of(line) == ()
