"""Lines of the NVIDIA driver with an Xid: each layout that is known, and what it says."""

import pytest

from tests.collectors.kernel_log.feeding import events_of, only_event, said

GPU = ("gpu", "0000:3b:00.0")
HEAD = "NVRM: Xid (PCI:0000:3b:00): "

XIDS: tuple[tuple[str, tuple[str, str], dict[str, str | None]], ...] = (
    (
        HEAD + "79, GPU has fallen off the bus.",
        GPU,
        {"code": "79", "pid": None, "text": "GPU has fallen off the bus."},
    ),
    (
        HEAD + "79, pid=4711, GPU has fallen off the bus.",
        GPU,
        {"code": "79", "pid": "4711", "name": None, "text": "GPU has fallen off the bus."},
    ),
    (
        HEAD + "63, pid='<unknown>', name=<unknown>, Row Remapper: New row "
        "(0x000000012ab3c400) marked for remapping, reset gpu to activate.",
        GPU,
        {"code": "63", "pid": None, "name": None, "row": "0x000000012ab3c400"},
    ),
    (
        HEAD + "64, pid='<unknown>', name=<unknown>, Row Remapper Error: "
        "(0x000000012ab3c400) - All reserved rows for bank are remapped",
        GPU,
        {"code": "64", "row": "0x000000012ab3c400"},
    ),
    (
        HEAD + "31, pid=4711, name=trainer, Ch 00000010, intr 00000000. MMU Fault: ENGINE CE2 "
        "HUBCLIENT_CE1 faulted @ 0x7e21_4c000000. Fault is of type FAULT_PTE "
        "ACCESS_TYPE_VIRT_WRITE",
        GPU,
        {
            "code": "31",
            "pid": "4711",
            "name": "trainer",
            "channel": "00000010",
            "engine": "CE2",
            "fault_type": "FAULT_PTE",
            "access_type": "ACCESS_TYPE_VIRT_WRITE",
        },
    ),
    (
        (
            "NVRM: Xid (PCI:0000:3b:00 GPU-I:05 GPU-CI:00): 13, pid=4711, name=python3, Graphics "
            "Exception: ChID 0011, Class 0000cbc0, Offset 00000000, Data 00000000"
        ),
        GPU,
        {"code": "13", "gi": "05", "ci": "00", "pid": "4711", "channel": "0011"},
    ),
    (
        HEAD + "13, pid=4711, name=python3, Graphics SM Warp Exception on (GPC 2, TPC 5, SM 1): "
        "Illegal Instruction Encoding",
        GPU,
        {"code": "13", "gpc": "2", "tpc": "5", "sm": "1"},
    ),
    (
        HEAD + "45, pid=4711, name=trainer, Ch 00000009 caused by previous Xid 145",
        GPU,
        {"code": "45", "cause": "145", "channel": "00000009"},
    ),
    (
        HEAD + "95, pid=4711, name=trainer, Uncontained: LTC DATA (0x1, 0x3). RST: Yes, D-RST: No",
        GPU,
        {"containment": "Uncontained", "unit": "LTC DATA", "reset": "Yes", "drain_reset": "No"},
    ),
    (
        HEAD + "94, pid=4711, name=t, Contained: SM (0x1). physAddr: 0x00001f. RST: No, D-RST: No",
        GPU,
        {"containment": "Contained", "unit": "SM", "address": "0x00001f", "reset": "No"},
    ),
    (
        HEAD + "119, pid=2210, name=nvidia-smi, Timeout after 6s of waiting for RPC response from "
        "GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) sequence 811 (0x20801702 0x4).",
        GPU,
        {"seconds": "6", "function": "76 (GSP_RM_CONTROL)", "name": "nvidia-smi"},
    ),
    (
        HEAD + "74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link "
        "6(0x20000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
        ("nvlink", "0000:3b:00.0/6"),
        {"link": "6", "registers": "0x20000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0"},
    ),
    (
        HEAD + "149, NETIR_LINK_DOWN  Fatal   XC0 i0 Link 07 (0x00400011 0x00000000 0x00000000 "
        "0x00000000 0x00000000 0x00000000)",
        ("nvlink", "0000:3b:00.0/7"),
        {
            "unit": "NETIR_LINK_DOWN",
            "severity": "Fatal",
            "xc": "0",
            "injected": "0",
            "info": "0x00400011",
            "status": "0x00000000",
        },
    ),
    (
        HEAD + "145, pid=4711, name=ray::Worker, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 "
        "(0x00000007 0x00000004 0x00000000 0x00000000 0x00000000 0x00000000)",
        ("nvlink", "0000:3b:00.0/12"),
        {"unit": "RLW_SRC_TRACK", "severity": "Nonfatal", "pid": "4711", "name": "ray::Worker"},
    ),
    (
        HEAD + "150, MSE_WATCHDOG Fatal XC0 i1 Link -1 (0x00000000 0x00000000 0x0)",
        GPU,
        {"unit": "MSE_WATCHDOG", "injected": "1", "link": None},
    ),
    (
        "NVRM: Xid (0000:03:00): 8, Channel 00000020",
        ("gpu", "0000:03:00.0"),
        {"code": "8", "text": "Channel 00000020"},
    ),
    (
        HEAD + "109, name=game.exe, errorString CTX SWITCH TIMEOUT",
        GPU,
        {"code": "109", "name": "game.exe", "text": "errorString CTX SWITCH TIMEOUT"},
    ),
    (
        HEAD + "119, pid=2210, name=nvidia-smi, Timeout waiting for RPC from GSP! Expected "
        "function 10 (FREE) (0xa55a0050 0x0).",
        GPU,
        {"function": "10 (FREE)", "seconds": None},
    ),
    ("NVRM: Xid (PCI:00000000:3B:00.0): 48", GPU, {"code": "48", "text": None}),
    (
        HEAD + "148, TLW_RX/TLW_RX_PIPE0 Fatal   XC0 i0 Link 07 (0x00400011 0x00000000 0x00000000 "
        "0x00000000 0x00000000 0x00000000)",
        ("nvlink", "0000:3b:00.0/7"),
        {"unit": "TLW_RX/TLW_RX_PIPE0", "severity": "Fatal", "link": "07", "info": "0x00400011"},
    ),
    (
        HEAD + "149, NETIR_LINK_DOWN  Fatal   XC0 i0 Link 00 (0x00400011 0x00000002 0x000",
        ("nvlink", "0000:3b:00.0/0"),
        {"link": "00", "info": "0x00400011", "status": "0x00000002"},
    ),
    (
        HEAD + "149, NETIR_LINK_DOWN  Fatal   XC0 i0 Link 17 (0x0040",
        ("nvlink", "0000:3b:00.0/17"),
        {"severity": "Fatal", "link": "17", "info": None},
    ),
    (
        HEAD + "149, NETIR_LINK_DOWN  Fatal   XC0 i0 Link 1",
        GPU,
        {"severity": "Fatal", "link": None, "unit": "NETIR_LINK_DOWN"},
    ),
    (
        HEAD + "74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 6(0x200",
        ("nvlink", "0000:3b:00.0/6"),
        {"link": "6", "registers": None},
    ),
    (
        HEAD + "45, pid=4711, name=trainer, Ch 00000009 caused by previous Xid 145",
        GPU,
        {"code": "45", "cause": "145", "channel": "00000009"},
    ),
    (HEAD + "4242, pid=1, name=a: b, c's, a new thing", GPU, {"code": "4242", "pid": "1"}),
)


@pytest.mark.parametrize(("line", "subject", "fields"), XIDS)
def test_an_xid_line_says_which_gpu_which_code_and_more(
    line: str, subject: tuple[str, str], fields: dict[str, str | None]
) -> None:
    """Every known layout of an Xid line gives its one event with all that the text says."""
    event = only_event(line)
    assert event.kind == "xid"
    assert event.type.value == "error.hw"
    assert (event.entity_type, event.entity_id) == subject
    assert said(event, fields) == fields
    assert event.raw == line


@pytest.mark.parametrize(
    ("line", "action", "old", "new"),
    [
        ("from 0x0 (None) to 0x1 (GPU Reset Required)", "reset", "0", "1"),
        ("from 0x0 (None) to 0x2 (Node Reboot Required)", "reboot", "0", "2"),
        ("from 0x1 (GPU Reset Required) to 0x0 (None)", "none", "1", "0"),
        ("from 0x0 (None) to 0x3 (Drain P2P)", "drain_p2p", "0", "3"),
        ("from 0x0 (None) to 0x4 (Drain and Reset)", "drain_and_reset", "0", "4"),
        ("from 0x0 (None) to 0x5 (Recover IMEX Domain)", "recover_imex", "0", "5"),
        ("from 0x0 (None) to 0xb (Something New)", "unknown", "0", "11"),
    ],
)
def test_xid_154_says_what_the_driver_wants(line: str, action: str, old: str, new: str) -> None:
    """Each recovery action has its label; a code that is not known keeps its number."""
    event = only_event(f"{HEAD}154, GPU recovery action changed {line}")
    assert event.kind == "gpu_recovery_action"
    assert said(event, ("code", "action", "old", "new")) == {
        "code": "154",
        "action": action,
        "old": old,
        "new": new,
    }
    assert f"({event.fields['action_text']})" == line.partition(" to ")[2].partition(" ")[2]


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: Xid (PCI:0000:3b:00) 79, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:here): 79, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:3b:00): seventy-nine, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:3b:00): 79x",
        'audit: type=1400 comm="x" NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.',
        "NVRM: Xid (PCI:0000[4711]: segfault at 0 ip 0 sp 0 error 4",
        "the Xid of this card is 79",
        " NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    ],
)
def test_what_only_looks_like_an_xid_is_none(line: str) -> None:
    """Without the driver's own beginning and an address and a code there is no Xid."""
    assert [event for event in events_of(line) if event.kind == "xid"] == []


def test_a_name_chosen_by_the_workload_cannot_change_what_is_said() -> None:
    """A process named like a driver text is a name: code and GPU stay the driver's."""
    event = only_event(HEAD + "43, pid=4711, name=RST: Yes, D-RST, Ch 00000009")
    assert event.fields["code"] == "43"
    assert "reset" not in event.fields
    assert (event.entity_type, event.entity_id) == GPU
