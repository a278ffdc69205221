"""What an event is given beside what it says: by its kind, its code, and for its kind only."""

import pytest

from exporter.collectors.kernel_log.events import KernelLines
from tests.faults.events.feeding import interpreted
from tests.faults.scenes import event

NETIR = {"unit": "NETIR_LINK_DOWN", "severity": "Fatal", "info": "0x00400011", "status": "0x0"}


def added(kind: str, **fields: str) -> dict[str, str]:
    """The fields that an event of this kind has afterwards and had not before."""
    told = event(kind, 1.0, ("gpu", "u0"), "kernel_log", **fields)
    found = interpreted(told).fields
    return {name: value for name, value in found.items() if name not in fields}


def registers(*words: int) -> str:
    """Seven registers as a line of Xid 74 prints them."""
    return ", ".join(f"0x{word:x}" for word in (*words, 0, 0, 0, 0, 0)[:7])


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("hung_task", {"code": "79"}, {}),
        ("gpu_recovery_action", {"action": "none"}, {"ended": "yes"}),
        ("gpu_recovery_action", {"action": "reset"}, {}),
        ("hung_task", {"action": "none"}, {}),
        ("segfault", {"library": "libcudart.so.12"}, {"gpu_library": "yes", "on_gpu": "yes"}),
        ("process_trap", {"library": "libnccl.so.2.21"}, {"gpu_library": "yes", "on_gpu": "yes"}),
        ("segfault", {"library": "libc.so.6"}, {"gpu_library": "no", "on_gpu": "no"}),
        ("segfault", {}, {"gpu_library": "no", "on_gpu": "no"}),
        ("mce", {"status": hex(1 << 61)}, {"uncorrected": "yes"}),
        ("mce", {"status": hex(1 << 62 | 1 << 60)}, {"uncorrected": "no"}),
        ("mce", {"status": "0x0", "exception": "5"}, {"uncorrected": "yes"}),
        ("mce", {"bank": "4"}, {}),
        ("hung_task", {"status": "D"}, {}),
        ("xid", {"code": "new"}, {}),
        ("sxid", {"code": "new"}, {}),
    ],
)
def test_only_its_own_kind_is_given_a_field(
    kind: str, fields: dict[str, str], expected: dict[str, str]
) -> None:
    """A recovery action that is over, a crash in a library of CUDA, a machine check.

    Bit 61 of the status of a machine check, or an exception, says that it was not corrected. A code
    that is no number has no meaning.
    """
    assert added(kind, **fields) == expected


def test_an_xid_has_meaning_severity_origin_and_advice() -> None:
    """As the table says them; numbers of links mean something for the codes of links only."""
    lost = {
        "meaning": "GPU no longer answers on PCIe",
        "severity_class": "critical",
        "origin": "bus",
        "advice": "reboot_node",
    }
    assert added("xid", code="79") == lost
    assert added("xid", code="79", info="0x1") == lost
    assert added("xid", code="999")["origin"] == "unknown"


def test_an_xid_of_a_link_is_decoded_where_it_has_its_numbers() -> None:
    """The advice is that of its parts; without them that of the table."""
    assert added("xid", code="149", **NETIR) == {
        **added("xid", code="149"),
        "fatal": "yes",
        "advice": "reset_gpu",
    }
    assert added("xid", code="149")["advice"] == "decode_nvlink"
    victim = {"unit": "RLW_SRC_TRACK", "severity": "Nonfatal", "info": "0x7", "status": "0x4"}
    assert added("xid", code="145", **victim)["fatal"] == "no"


def test_what_a_partition_says_is_about_its_disk() -> None:
    """Errors of nvme1n1p1 are errors of nvme1n1."""
    line = "Buffer I/O error on dev nvme1n1p1, logical block 1024, lost async page write"
    (found,) = map(interpreted, KernelLines().events([line], 10_000.0))
    assert found.entity_id == "nvme1n1"


@pytest.mark.parametrize(
    ("words", "fatal"),
    [
        ((0, 0, 0, 0, 0), "yes"),  # it says nothing: better believed
        ((1 << 0 | 1 << 20, 0, 0, 0, 1 << 20), "no"),
        ((1 << 0, 0, 1 << 13), "yes"),
        ((0x10, 0), "yes"),
        ((0x100000, 0), "no"),
    ],
)
def test_registers_tell_whether_a_link_is_broken(words: tuple[int, ...], fatal: str) -> None:
    """Unless all their bits say that something else went wrong, or was corrected."""
    assert added("xid", code="74", registers=registers(*words))["fatal"] == fatal


@pytest.mark.parametrize(
    ("fields", "fatal", "fatality", "meaning"),
    [
        ({"code": "12022"}, "yes", "fatal_port", "port egress: uncorrectable ECC error"),
        ({"code": "12022", "severity": "Non-fatal"}, "no", "fatal_port", "port egress"),
        ({"code": "12023"}, "no", "corrected", "port egress: corrected ECC errors"),
        ({"code": "10003", "severity": "FATAL"}, "yes", "fatal_fabric", "switch host"),
        ({"code": "99999", "text": "new words"}, "no", "unknown", "new words"),
        ({"code": "99999"}, "no", "unknown", "unknown"),
    ],
)
def test_a_switch_error_is_as_fatal_as_its_line_says(
    fields: dict[str, str], fatal: str, fatality: str, meaning: str
) -> None:
    """Where the line has no word the table decides; what no table has is told in its own words."""
    found = added("sxid", **fields)
    assert (found["fatal"], found["fatality"]) == (fatal, fatality)
    assert found["meaning"].startswith(meaning)
