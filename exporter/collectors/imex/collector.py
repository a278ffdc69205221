"""The collector of the IMEX domain, and what rules see of it; off by default."""

from collections.abc import Iterable
from pathlib import Path

from exporter.collector import About, Collector, SourceRow
from exporter.collectors.imex.source import ImexSource
from exporter.collectors.imex.values import ImexDomain, ImexNode
from exporter.exposition.rows import Row, each, families, reading, rows_of
from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.entities.node import NodeFields
from exporter.faults.subject import CollectorSubject
from exporter.faults.values import Entity
from exporter.model.snapshot import Snapshot


def _nodes(snapshot: Snapshot) -> Iterable[Entity]:
    domain = snapshot.reading(ImexDomain)
    for node in domain.nodes if domain else ():
        yield Entity(("imex_node", node.host), node.host, FieldsOf(node, _GETTERS))


_GETTERS = getters_of(ImexNode)

COLLECTOR = Collector(
    "imex",
    sources=(
        SourceRow(
            "imex",
            "services",
            ImexSource,
            by_default=False,
            about=About(
                "`nvidia-imex-ctl -N -j`",
                "`hw_imex_*`",
                "the program, and `/etc/nvidia-imex` with `IMEX_CMD_ENABLED=1`",
                without="absent, or failed with the words of the program",
            ),
        ),
    ),
    values=(ImexDomain,),
    families=(
        *families(
            "hw_imex_domain_",
            reading(ImexDomain),
            *rows_of(ImexDomain),
            Row(
                "nodes",
                "Number of nodes in the IMEX domain.",
                "node_count",
                never_bad="it is the size of the domain",
            ),
            Row(
                "nodes_ready",
                "Number of nodes in the IMEX domain whose IMEX is ready.",
                "ready_count",
                never_bad="hw_imex_node_ready names those that are not",
            ),
        ),
        *families(
            "hw_imex_node_",
            each(ImexDomain, lambda domain: domain.nodes, ImexNode, "host"),
            *rows_of(ImexNode),
        ),
    ),
    subject=CollectorSubject(
        kinds=(Kind("imex_node", "imex_node", names_of(ImexNode), _nodes, ImexDomain, ends=True),),
        node=NodeFields(readings=(("imex_domain_", ImexDomain),)),
    ),
    rules=Path(__file__).parent / "rules",
)
