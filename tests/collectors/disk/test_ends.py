"""The end of a trouble of one device, of which the kernel tells, is not that of another one."""

import json

import pytest

from exporter.collectors import every_for
from exporter.commands.rules import changes
from exporter.config import Config

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


@pytest.mark.parametrize("rule", CASES)
def test_the_end_of_one_is_not_the_end_of_another(rule: str) -> None:
    """A volume, pool, adapter or port goes on while another one is well again."""
    collectors = every_for(Config())
    begin, of_another, end = CASES[rule]
    steps: list[dict[str, object]] = [{"base": "server", "wait": 30}, {"log": begin, "wait": 60}]
    steps += [{"log": of_another, "wait": 200}, {"log": end, "wait": 200}]

    def active(steps: list[dict[str, object]]) -> int:
        said = list(changes(map(json.dumps, steps), collectors.rule_book(()), collectors))
        states = [each.split()[1] for each in said if f" {rule} of " in each]
        return states.count("active") - states.count("cleared")

    assert [active(steps[:count]) for count in (2, 3, 4)] == [1, 1, 0]
