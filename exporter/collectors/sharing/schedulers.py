"""GPU sharing schedulers: finds their files on the node, and queries those that answer."""

from pathlib import Path

from exporter.blocking import CallBlocking, OneAtATime
from exporter.collectors.sharing.hami import HamiLimit, read_limits
from exporter.collectors.sharing.mps import ROOT, MpsControl, MpsServer, Pipe, find_pipes
from exporter.collectors.sharing.node import NodeSharing
from exporter.collectors.workloads.kubelet import Replicas
from exporter.collectors.workloads.pod_logs import PodNames
from exporter.collectors.workloads.redaction import Redaction
from exporter.collectors.workloads.values import Workload
from exporter.model.reading import Missing
from exporter.record import dataclass, replace

PATIENCE_SECS = 0.5


@dataclass(frozen=True, slots=True)
class SchedulersSeen:
    """What schedulers say, before it is known whose pods these are.

    `mps_resources` are resources of the device plugin that have an MPS control daemon.
    """

    limits: tuple[HamiLimit, ...] = ()
    pipes: tuple[Pipe, ...] = ()
    mps_resources: frozenset[str] = frozenset()
    mps_servers: tuple[MpsServer, ...] = ()
    missing: tuple[Missing, ...] = ()

    @property
    def needs_names(self) -> bool:
        """Whether names of pods must be read to tell whose these limits are."""
        return bool(self.limits)

    def on_node(
        self, registered: tuple[Replicas, ...], names: PodNames, redaction: Redaction
    ) -> NodeSharing:
        """Join the limits, but those of pods that are gone, with the registered replicas."""
        hami = {}
        for limit in self.limits:
            pod = names.pods.get(limit.pod_uid)
            if pod is not None:
                workload = Workload(pod.namespace, pod.pod, limit.container)
                hami[limit.gpu_uuid, redaction.workload(workload)] = limit
        return NodeSharing(registered, self.mps_resources, self.mps_servers, hami)


def look(host_root: Path, owner: int = ROOT) -> SchedulersSeen:
    """Look for schedulers, which are `owner`; without any it costs a stat for each place."""
    limits, missing = read_limits(host_root, owner)
    pipes, resources = find_pipes(host_root, owner)
    return SchedulersSeen(limits, pipes, resources, missing=missing)


class Schedulers:
    """Looks at each collection; a folder that hangs costs what is in it and nothing else."""

    def __init__(
        self,
        host_root: Path,
        mps: MpsControl,
        call: CallBlocking,
        owner: int = ROOT,
        *,
        patience_secs: float = PATIENCE_SECS,
    ) -> None:
        self._mps = mps
        self._seen = OneAtATime(lambda: call(lambda: look(host_root, owner)), patience_secs)

    async def read(self, gpu_uuids: tuple[str, ...]) -> SchedulersSeen:
        """Return what schedulers say of these GPUs; what MPS says is that of a look before."""
        seen = await self._seen.look()
        if seen is None:
            return SchedulersSeen(missing=(Missing("schedulers", "a folder does not answer"),))
        self._mps.keep_fresh(seen.pipes, gpu_uuids)
        missing = (*seen.missing, *self._mps.missing())
        return replace(seen, mps_servers=self._mps.servers(), missing=missing)

    async def close(self) -> None:
        """End what is asked beside collections; a look that hangs is left behind."""
        await self._mps.close()
