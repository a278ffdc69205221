"""The collector of processes on GPUs and of their pods and jobs."""

from pathlib import Path

from exporter.collector import Collector, SourceRow
from exporter.collectors.workloads.entities import PROCESS, WORKLOAD
from exporter.collectors.workloads.families import FAMILIES
from exporter.collectors.workloads.jobs import GpuJobs
from exporter.collectors.workloads.late import LateWorkloads
from exporter.collectors.workloads.values import Workloads
from exporter.collectors.workloads.wait_edges import TRACKED, owners_of_locks, waiting
from exporter.faults.entities.node import NodeFields
from exporter.faults.subject import CollectorSubject

COLLECTOR = Collector(
    "workloads",
    sources=(SourceRow("workloads", "workloads", LateWorkloads),),
    values=(Workloads,),
    old_names={("Workloads", "clients", "*"): {"io_delay_secs": ""}},
    families=FAMILIES,
    subject=CollectorSubject(
        kinds=(PROCESS, WORKLOAD),
        node=NodeFields(readings=(("workload_", Workloads),)),
        interpreter=GpuJobs,
        links=(waiting,),
        tracked=TRACKED,
        named_in_events=owners_of_locks,
    ),
    rules=Path(__file__).parent / "rules",
)
