"""The functions that tables of `kernel_log.toml` name: by `convert` for fields, by `about`."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from exporter.collectors.disk.values import whole_disk
from exporter.collectors.gpu.words import LINK_CODES
from exporter.collectors.kernel_log.pattern import NODE, Fields, Subject
from exporter.collectors.kernel_log.xid import convert_recovery, convert_xid
from exporter.reading.cgroup import pod_and_container

UNCORRECTED_BIT = 61
"""Of the status of a bank, with AMD and Intel alike: the processor could not correct it."""

CONTEXT_CORRUPT_BIT = 57
"""The state of the processor is lost: no kernel goes on after such an error."""

_SD_MAJORS = (8, *range(65, 72), *range(128, 136))
_REMOVABLE = re.compile(r"(?:sr|fd|loop)\d")

_GROUPS = re.compile(
    # A path begins with a slash; the name of a group, which is printed before, has none.
    r"(?:oom_memcg=(?P<memcg>/[^,]*)|global_oom),task_memcg=(?P<task_memcg>/[^,]*)$"
)

_NO_LABELS = frozenset({"", "any memory", "unknown memory", "unknown label"})

_AER_BITS: Mapping[str, str] = {
    "Receiver Error": "RxErr",
    "Bad TLP": "BadTLP",
    "Bad DLLP": "BadDLLP",
    "RELAY_NUM Rollover": "Rollover",
    "Replay Timer Timeout": "Timeout",
    "Advisory Non-Fatal": "NonFatalErr",
    "Data Link Protocol": "DLP",
    "Surprise Down Error": "SDES",
    "Poisoned TLP": "TLP",
    "Flow Control Protocol": "FCP",
    "Completion Timeout": "CmpltTO",
    "Completer Abort": "CmpltAbrt",
    "Unexpected Completion": "UnxCmplt",
    "Receiver Overflow": "RxOF",
    "Malformed TLP": "MalfTLP",
    "Unsupported Request": "UnsupReq",
    "ACS Violation": "ACSViol",
}
"""The long names of error bits that kernels before 5.2 print, and the short ones of today."""


def aer_class(fields: dict[str, str]) -> dict[str, str]:
    """Name the severity corrected, nonfatal or fatal, and write the old id form as an address."""
    word = fields.get("severity", "")
    if word in ("Corrected", "Correctable"):
        fields["severity"] = "corrected"
    else:
        kind = re.search(r"\((.*)\)", word)
        fields["severity"] = kind[1].lower().replace("-", "") if kind else "uncorrected"
    number = int(fields.pop("id", "0"), 16)
    if number:
        fields["pci"] = f"0000:{number >> 8:02x}:{number >> 3 & 0x1F:02x}.{number & 7}"
    return fields


def aer_bit(fields: dict[str, str]) -> dict[str, str]:
    """Return the name of the bit in its short form."""
    name = fields["error"].strip()
    return fields | {"error": _AER_BITS.get(name, name)}


def edac_class(fields: dict[str, str]) -> dict[str, str]:
    """Return the class in words: CE is corrected, UE is not."""
    is_corrected = fields["error_type"] == "CE"
    return fields | {
        "error_type": "corrected" if is_corrected else "uncorrected",
        "dimm": fields["dimm"].strip(),
    }


def mce_status(fields: dict[str, str]) -> dict[str, str]:
    """Tell from the status of a bank whether its error was corrected, or the CPU lost its state."""
    status = int(fields["status"], 16)
    is_uncorrected = status >> UNCORRECTED_BIT & 1 or fields.get("exception")
    context = {"context": "corrupt"} if status >> CONTEXT_CORRUPT_BIT & 1 else {}
    return fields | {"error_type": "uncorrected" if is_uncorrected else "corrected"} | context


def removable(fields: dict[str, str]) -> dict[str, str]:
    """Mark a device that comes and goes: a CD or floppy drive, an image."""
    is_removable = _REMOVABLE.match(fields.get("device", ""))
    return fields | {"removable": "yes"} if is_removable else fields


def scsi_disk(fields: dict[str, str]) -> dict[str, str]:
    """Name the SCSI disk whose device number is `path`: sdb of 8:16. Other numbers name none."""
    major, minor = (int(part) for part in fields["path"].split(":"))
    if major not in _SD_MAJORS:
        return fields
    # drivers/scsi/sd.c, sd_major and sd_probe: sixteen partitions each, then the upper bits.
    number = _SD_MAJORS.index(major) * 16 + (minor >> 4 & 0xF) + (minor & 0xFFF00)
    letters = ""
    while number >= 0:
        letters = chr(ord("a") + number % 26) + letters
        number = number // 26 - 1
    return fields | {"device": f"sd{letters}"}


def mapped_disk(fields: dict[str, str]) -> dict[str, str]:
    """Name the disk of the device mapper whose device number is `path`: dm-2 of 253:2."""
    return fields | {"device": f"dm-{fields['path'].partition(':')[2]}"}


def group(fields: dict[str, str]) -> dict[str, str]:
    """Add pod and container of the control group whose limit was met."""
    return fields | pod_and_container(fields.get("task_memcg") or fields.get("memcg", ""))


def oom_decision(fields: dict[str, str]) -> dict[str, str]:
    """Return the control groups of the decision, and who was without memory: a group or the node.

    Names of groups are chosen by whoever makes them: a text in which they could be read in more
    than one way says nothing about them.
    """
    text = fields.pop("text")
    fields["scope"] = "group" if fields["constraint"] == "CONSTRAINT_MEMCG" else "node"
    groups = _GROUPS.search(text)
    if groups is not None and text.count("task_memcg=") == 1:
        fields |= {name: value for name, value in groups.groupdict().items() if value}
    return group(fields)


CONVERSIONS: Mapping[str, Callable[[dict[str, str]], dict[str, str]]] = MappingProxyType(
    {
        "aer_bit": aer_bit,
        "aer_class": aer_class,
        "edac_class": edac_class,
        "group": group,
        "mce_status": mce_status,
        "oom_decision": oom_decision,
        "recovery_action": convert_recovery,
        "removable": removable,
        "mapped_disk": mapped_disk,
        "scsi_disk": scsi_disk,
        "xid": convert_xid,
    }
)
"""The functions that `convert` names."""


def xid_subject(fields: Fields) -> Subject:
    """Return the link for a link error that names one, else the GPU."""
    pci = fields.get("pci")
    link = fields.get("link", "")
    if pci and fields.get("code") in LINK_CODES and link.isdecimal():
        return ("nvlink", f"{pci}/{int(link)}")
    return ("gpu", pci) if pci else NODE


def edac_subject(fields: Fields) -> Subject:
    """Return the DIMM by its label, else its controller."""
    label = fields.get("dimm", "")
    return ("memory", f"mc{fields.get('controller', '')}" if label in _NO_LABELS else label)


def victim(fields: Fields) -> Subject:
    """Return the pod whose limit was met, the node when it had no memory left, else the process."""
    if fields.get("scope") == "node":
        return NODE
    return subject_from((("workload", "pod_uid"), ("process", "pid")))(fields)


def subject_from(places: tuple[tuple[str, str], ...]) -> Callable[[Fields], Subject]:
    """Make a function that returns the type and the id in the first of these fields that was said.

    Of a partition it returns the whole disk, and the node where the line said none of the fields.
    """

    def about(fields: Fields) -> Subject:
        for hw_type, name in places:
            if hw_id := fields.get(name):
                return (hw_type, whole_disk(hw_id) if hw_type == "physical_disk" else hw_id)
        return NODE

    return about


SUBJECTS: Mapping[str, Callable[[Fields], Subject]] = MappingProxyType(
    {"edac": edac_subject, "victim": victim, "xid": xid_subject}
)
"""The functions that `about` names."""
