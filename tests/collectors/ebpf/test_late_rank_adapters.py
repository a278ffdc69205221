"""A rank that is late because of the adapter nearest to its GPU."""

import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from exporter.collectors.ebpf.values import Communicator, TracedCalls
from exporter.collectors.everything import KINDS, rule_book
from exporter.collectors.network.ethtool import chosen_of
from exporter.collectors.network.values import DriverCounters, Infiniband
from exporter.collectors.workloads.values import GpuClient, ProcessUse, Workload, Workloads
from exporter.faults.engine import RuleEngine
from exporter.model.snapshot import Snapshot
from tests.collectors.network.test_affinity import EIGHT_PAIRS, read_board

LATE = Communicator(
    *("c", Workload("ml", "train-0", "main"), 8, 8, (44, 45)),
    late="rank 3 (pid 44)",
    late_pid=44,
    late_secs=0.2,
    late_ratio=0.3,
)


@cache
def _board(layout: str) -> Snapshot:
    with TemporaryDirectory() as folder:
        return read_board(Path(folder) / "node", layout)


def _node(now: float, down: str, layout: str = EIGHT_PAIRS) -> Snapshot:
    """Eight pairs of GPU and adapter; process 44 uses GPU 3, and one port is down."""
    made = _board(layout)
    infiniband = made.reading(Infiniband)
    assert infiniband is not None
    ports = tuple(
        replace(port, state="down" if port.device == down else "active", link_was_up=True)
        for port in infiniband.ports
    )
    clients = (GpuClient(44, (ProcessUse("GPU-3", "compute"),)),)
    readings = {
        **made.readings,
        Infiniband: Infiniband(ports),
        TracedCalls: TracedCalls(communicators=(LATE,)),
        Workloads: Workloads("ok", clients=clients),
    }
    return replace(made, readings=readings, taken_boottime=now, taken_at=1e9 + now)


@pytest.mark.parametrize(
    ("down", "causes"), [("mlx5_5", ["ib_port_down"]), ("mlx5_11", []), ("mlx5_1", [])]
)
def test_the_nearest_adapter_explains_it(down: str, causes: list[str]) -> None:
    """The port beside GPU 3 is the root; that of another GPU, or of storage, explains nothing."""
    engine = RuleEngine(rule_book(), KINDS, time.perf_counter, "boot")
    for look in range(8):
        said = engine.conclude(_node(1000.0 + 15 * look, down))
    active = {fault.rule: fault for fault in said.active}
    assert {"nccl_straggler", "ib_port_down"} <= active.keys()
    straggler = active["nccl_straggler"]
    assert [cause.rule for cause in straggler.causes] == causes
    if causes:
        assert straggler.causes[-1].subject.hw_id.startswith("mlx5_5")


ROCE = EIGHT_PAIRS.replace("mlx5_5 ", "mlx5_5:ens5 ").replace("mlx5_11 ", "mlx5_11:ens11 ")
"""The same board, with the interfaces of two adapters."""


@pytest.mark.parametrize(
    ("statistic", "a_second", "rule"),
    [
        ("rx_prio3_pause", 10_000, "nic_pause_storm"),
        ("rx_out_of_buffer", 200, "nic_discards"),
        ("rx_discards_phy", 200, "nic_discards"),
        ("rx_fec_uncorrectable_blocks", 1, "nic_fec_uncorrectable"),
        ("rx_pcs_symbol_err_phy", 10, "nic_fec_uncorrectable"),
    ],
)
@pytest.mark.parametrize("ill", ["ens5", "ens11"])
def test_counters_of_the_nearest_adapter_explain_it(
    statistic: str, a_second: int, rule: str, ill: str
) -> None:
    """From what the driver counts to the slow collective: beside GPU 3 it is the root cause."""
    engine = RuleEngine(rule_book(), KINDS, time.perf_counter, "boot")
    for look in range(24):
        now = 1000.0 + 15 * look
        counts = {"ens5": 0, "ens11": 0, ill: 15 * look * a_second}
        nics = tuple(chosen_of(name, {statistic: count}) for name, count in counts.items())
        seen = _node(now, "", ROCE)
        readings = {**seen.readings, DriverCounters: DriverCounters(nics)}
        said = engine.conclude(replace(seen, readings=readings))
    active = {fault.rule: fault for fault in said.active}
    assert active.keys() == {"nccl_straggler", rule}
    assert active[rule].subject.hw_id == ill
    causes = [cause.rule for cause in active["nccl_straggler"].causes]
    assert causes == ([rule] if ill == "ens5" else [])
