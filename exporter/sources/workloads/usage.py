"""Shares the energy of a GPU among its workloads, so that nothing is lost or counted twice."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.model.workload import Workload

WHOLE = 100.0


@dataclass(slots=True)
class _Account:
    """Joules of one GPU since its counter began; their sum is the counter."""

    counter: float
    idle: float
    ended: float = 0.0
    workloads: dict[Workload, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EnergyShares:
    """Joules by workload, of nobody (idle, and all from before we looked), and of ended ones."""

    workloads: Mapping[Workload, float]
    idle: float
    ended: float


class EnergyMeter:
    """Splits each increase of a GPU's energy counter by the utilization during it.

    A workload that ran kernels 30 % of the time gets 30 % of the energy, the rest is idle; where
    the shares add up to more than 100 % they are scaled to it.
    """

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}

    def take(
        self, gpu_uuid: str, counter_joules: float, percents: Mapping[Workload, float | None]
    ) -> EnergyShares:
        """The shares after a reading: the counter, and each present workload's utilization."""
        account = self._accounts.get(gpu_uuid)
        if account is None or counter_joules < account.counter:
            # A counter that begins anew takes the shares of the old one with it.
            account = self._accounts[gpu_uuid] = _Account(counter_joules, counter_joules)
        for gone in account.workloads.keys() - percents.keys():
            account.ended += account.workloads.pop(gone)
        increase = counter_joules - account.counter
        account.counter = counter_joules
        whole = max(WHOLE, sum(percent or 0.0 for percent in percents.values()))
        given = 0.0
        for workload, percent in percents.items():
            share = increase * (percent or 0.0) / whole
            given += share
            if percent is not None or workload in account.workloads:
                account.workloads[workload] = account.workloads.get(workload, 0.0) + share
        account.idle += increase - given
        return EnergyShares(dict(account.workloads), account.idle, account.ended)

    def forget_all_but(self, gpu_uuids: frozenset[str]) -> None:
        """Drop the accounts of GPUs that are no longer known."""
        for gone in self._accounts.keys() - gpu_uuids:
            del self._accounts[gone]
