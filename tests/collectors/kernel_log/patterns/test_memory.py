"""Lines about machine checks, firmware records, EDAC and pages taken offline."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event

NODE = ("node", "")
DIMM = "CPU_SrcID#0_MC#1_Chan#0_DIMM#0"
HE = "[Hardware Error]:"

CASES: tuple[Case, ...] = (
    ("mce", NODE, {"cpu": None}, (f"mce: {HE} Machine check events logged",)),
    (
        "mce",
        ("cpu", "12"),
        {"bank": "8", "status": "cc00010000010091", "error_type": "corrected"},
        (f"mce: {HE} CPU 12: Machine Check: 0 Bank 8: cc00010000010091",),
    ),
    (
        "mce",
        ("cpu", "18"),
        {"bank": "7", "error_type": "uncorrected"},
        (f"mce: {HE} CPU 18: Machine Check Exception: 5 Bank 7: be00000001010091",),
    ),
    (
        "mce",
        ("cpu", "3"),
        {"bank": "17", "error_type": "corrected"},
        (f"{HE} CPU:3 (19:1:1) MC17_STATUS[Over|CE|MiscV|-|-|SyndV]: 0xdc2040000000011b",),
    ),
    (
        "mce",
        NODE,
        {"address": "12f3456000"},
        ("mce: Uncorrected hardware memory error in user-access at 12f3456000",),
    ),
    (
        "cper",
        ("pcie", "0000:3b:00.0"),
        {"record": "3", "severity": "corrected", "section": "PCIe error", "error_source": "4"},
        (
            f"{{3}}{HE} Hardware error from APEI Generic Hardware Error Source: 4",
            f"{{3}}{HE} event severity: corrected",
            f"{{3}}{HE}  Error 0, type: corrected",
            f"{{3}}{HE}   section_type: PCIe error",
            f"{{3}}{HE}   port_type: 0, PCIe end point",
            f"{{3}}{HE}   device_id: 0000:3b:00.0",
        ),
    ),
    (
        "cper",
        ("memory", "CPU1_DIMM_A1"),
        {"severity": "recoverable", "section": "memory error", "address": "0x000000123456789a"},
        (
            f"{{1}}{HE} Hardware error from APEI Generic Hardware Error Source: 1",
            f"{{1}}{HE} event severity: recoverable",
            f"{{1}}{HE}   section_type: memory error",
            f"{{1}}{HE}   physical_address: 0x000000123456789a",
            f"{{1}}{HE}   DIMM location: CPU1_DIMM_A1",
        ),
    ),
    ("cper", NODE, {"severity": "fatal", "record": None}, (f"{HE} event severity: fatal",)),
    (
        "bert",
        NODE,
        {"severity": "fatal", "section": "memory error"},
        (
            "BERT: Error records from previous boot:",
            f"{HE} event severity: fatal",
            f"{HE}  Error 0, type: fatal",
            f"{HE}   section_type: memory error",
        ),
    ),
    (
        "mce",
        ("cpu", "0"),
        {"error_type": "uncorrected", "context": "corrupt", "tsc": "0"},
        (
            f"mce: {HE} CPU 0: Machine Check: 0 Bank 4: a600000000020408",
            f"mce: {HE} TSC 0 ADDR fef4c9e0 ",
        ),
    ),
    (
        "mce",
        ("cpu", "0"),
        {"error_type": "uncorrected", "context": "corrupt", "tsc": None},
        (
            f"mce: {HE} CPU 0: Machine Check: 0 Bank 4: a600000000020408",
            f"mce: {HE} TSC 2b5e1c3f ADDR fef4c9e0 ",
        ),
    ),
    (
        "edac",
        ("memory", DIMM),
        {"controller": "1", "count": "2", "error_type": "corrected"},
        (
            (
                f"EDAC MC1: 2 CE memory read error on {DIMM} (channel:0 slot:0 page:0x2ab34 "
                "offset:0x40 grain:32 syndrome:0x0 -  err_code:0x0101:0x0090 socket:0 imc:1 rank:0)"
            ),
        ),
    ),
    (
        "edac",
        ("memory", "mc0"),
        {"error_type": "uncorrected", "count": "1"},
        ("EDAC MC0: 1 UE memory scrubbing error on any memory (page:0x0 offset:0x0 grain:0)",),
    ),
    (
        "edac",
        ("memory", "mc0"),
        {"error_type": "corrected"},
        ("EDAC MC0: 1 CE reserved error (16) on unknown label (node:0 rank:0 bank:0 row:0)",),
    ),
    (
        "page_offline",
        NODE,
        {"pfn": "12f3456", "page": "dirty LRU page", "verdict": "Recovered"},
        ("Memory failure: 0x12f3456: recovery action for dirty LRU page: Recovered",),
    ),
    (
        "page_offline",
        NODE,
        {"name": "trainer", "pid": "4711"},
        (
            (
                "Memory failure: 0x12f3456: Sending SIGBUS to trainer:4711 due to hardware memory "
                "corruption"
            ),
        ),
    ),
    (
        "page_offline",
        NODE,
        {"pid": "4711"},
        ("Memory failure: 0x12f3456: Killing a:b:4711 due to hardware memory corruption",),
    ),
    (
        "page_offline",
        NODE,
        {"pfn": "12f3456"},
        ("Soft offline: 0x12f3456: page already poisoned",),
    ),
    (
        "cper",
        ("node", ""),
        {"severity": "recoverable", "section": "unknown"},
        (
            "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4",
            "{1}[Hardware Error]: event severity: recoverable",
            "{1}[Hardware Error]:  Error 0, type: recoverable",
            "{1}[Hardware Error]:   section type: unknown, 6d5244f2-2712-11ec-bea7-cb3fdb95c786",
        ),
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_an_error_of_processor_or_memory_is_one_event(case: Case) -> None:
    """Machine checks, firmware records of many lines and memory errors name what they are about."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        "mce: CPU0: Thermal monitoring enabled (TM1)",
        "mce: CPU supports 32 MCE banks",
        "BERT: Error records from previous boot:",
        f"mce: {HE} TSC 0 ADDR fef4c9e0 ",
        f"mce: {HE} PROCESSOR 0:706a1 TIME 1537152664 SOCKET 0 APIC 0 microcode 28",
        f"{HE} Corrected error, no action required.",
        f"{{3}}{HE}   device_id: 0000:3b:00.0",
        f"{{3}}{HE}  Error 0, type: corrected",
        "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV",
        "EDAC MC: Ver: 3.0.0",
        "EDAC sbridge MC1: HANDLING MCE MEMORY ERROR",
        "EDAC sbridge MC1: CPU 1: Machine Check Event: 0 Bank 11: 8c00004f000800c2",
        "Memory failure: 0x12f3456: already hardware poisoned",
        "GHES: APEI firmware first mode is enabled by APEI bit.",
    ],
)
def test_notices_and_loose_parts_are_no_event(line: str) -> None:
    """What the kernel says at boot, and parts of a dump without its head, say nothing."""
    assert events_of(line) == ()


def test_records_of_the_firmware_are_told_apart_by_their_number() -> None:
    """Two records in a row are two events, each with its own severity."""
    lines = [
        line
        for number, severity in ((7, "corrected"), (8, "fatal"))
        for line in (
            f"{{{number}}}{HE} Hardware error from APEI Generic Hardware Error Source: 4",
            f"{{{number}}}{HE} event severity: {severity}",
        )
    ]
    assert [event.fields["severity"] for event in events_of(*lines)] == ["corrected", "fatal"]
