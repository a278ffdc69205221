"""The end of a trouble of one device, of which the kernel tells, is not that of another one."""

import json

import pytest

from exporter.collectors.everything import EVERYTHING, rule_book
from exporter.commands.rules import changes

VOLUME = "megaraid_sas 0000:18:00.0: 4711 (700000000s/0x0001/{}) - VD 0{}/{} is now {}"
CASES = {
    "thin_pool_failed": (
        "device-mapper: thin: 253:4: switching pool to read-only mode",
        "device-mapper: thin: 253:9: switching pool to write mode",
        "device-mapper: thin: 253:4: switching pool to write mode",
    ),
    "raid_volume_degraded": (
        VOLUME.format("CRIT", 0, 0, "DEGRADED"),
        VOLUME.format("INFO", 1, 1, "OPTIMAL"),
        VOLUME.format("INFO", 0, 0, "OPTIMAL"),
    ),
    "storage_adapter_failed": (
        "mpt3sas_cm0: fault_state(0x2100)!",
        "mpt3sas_cm1: diag reset: SUCCESS",
        "mpt3sas_cm0: diag reset: SUCCESS",
    ),
    "storage_path_lost": (
        "qla2xxx [0000:3b:00.0]-500b:1: LOOP DOWN detected (2 3 0 0).",
        "qla2xxx [0000:5e:00.0]-500a:2: LOOP UP detected (32 Gbps).",
        "qla2xxx [0000:3b:00.0]-500a:1: LOOP UP detected (32 Gbps).",
    ),
}


def active(rule: str, steps: list[dict[str, object]]) -> int:
    """Return how many faults of the rule are active at the end of these steps."""
    said = list(changes(map(json.dumps, steps), rule_book(), EVERYTHING))
    states = [each.split()[1] for each in said if each.split()[3] == rule]
    return states.count("active") - states.count("cleared")


UNMOUNTED = {
    "filesystem_error": "XFS (nvme1n1): Metadata corruption detected at xfs_agi_verify+0x1a0",
    "filesystem_readonly": "EXT4-fs (nvme1n1): Remounting filesystem read-only",
    "filesystem_shutdown": "XFS (nvme1n1): log I/O error -5",
}


@pytest.mark.parametrize("rule", UNMOUNTED)
def test_a_fault_of_a_filesystem_ends_when_it_is_unmounted(rule: str) -> None:
    """An unmount by hand ends it; the unmount after the loss of its disk does not."""
    mount = {"Filesystems.filesystems./data": {"readonly": rule == "filesystem_readonly"}}
    unmount: dict[str, object] = {"Filesystems.filesystems./data": None}
    lost = {**unmount, "Disks.disks.nvme1n1": None}
    begin: list[dict[str, object]] = [{"base": "server", "wait": 30}]
    begin.append({"set": mount, "log": UNMOUNTED[rule], "wait": 60})
    assert active(rule, begin) == 1
    assert active(rule, [*begin, {"set": unmount, "wait": 60}]) == 0
    assert active(rule, [*begin, {"set": lost, "wait": 60}]) == 1


@pytest.mark.parametrize("rule", CASES)
def test_the_end_of_one_is_not_the_end_of_another(rule: str) -> None:
    """A volume, pool, adapter or port goes on while another one is well again."""
    begin, of_another, end = CASES[rule]
    steps: list[dict[str, object]] = [{"base": "server", "wait": 30}, {"log": begin, "wait": 60}]
    steps += [{"log": of_another, "wait": 200}, {"log": end, "wait": 200}]

    assert [active(rule, steps[:count]) for count in (2, 3, 4)] == [1, 1, 0]


def test_errors_of_a_disk_end_when_it_was_gone_and_is_back() -> None:
    """Not where for a moment no disk could be read, nor while it does not work."""
    disk = {"device": "sdk", "scsi_address": "4:0:0:0", "scsi_state": "running"}
    begin: list[dict[str, object]] = [
        {"base": "server", "set": {"Disks.disks.sdk": disk}, "wait": 30},
        {"log": "I/O error, dev sdk, sector 8 op 0x0:(READ) flags 0x0", "wait": 60},
    ]
    gone: dict[str, object] = {"set": {"Disks.disks.sdk": None}, "wait": 60}
    offline: dict[str, object] = {
        "set": {"Disks.disks.sdk": {**disk, "scsi_state": "offline"}},
        "wait": 60,
    }
    back: dict[str, object] = {"set": {"Disks.disks.sdk": disk}, "wait": 60}
    unread: list[dict[str, object]] = [
        {"set": {"Disks": None}, "wait": 30},
        {"set": {"Disks": {"disks": {"sdk": disk}}}, "wait": 60},
    ]
    assert active("disk_io_errors", begin) == 1
    assert active("disk_io_errors", [*begin, *unread]) == 1
    assert active("disk_io_errors", [*begin, gone, offline]) == 1
    assert active("disk_io_errors", [*begin, gone, back]) == 0
    assert active("disk_io_errors", [*begin, gone, offline, back]) == 0
