"""The collector of network interfaces, the TCP/IP stack and InfiniBand ports."""

from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.collectors.network.entities import (
    FIELDS,
    IB_PORT,
    NIC,
    PortRepairs,
    adapters_of_ports,
)
from exporter.collectors.network.ethtool import EthtoolReader
from exporter.collectors.network.families import FAMILIES
from exporter.collectors.network.infiniband import InfinibandReader
from exporter.collectors.network.interfaces import NetworkReader
from exporter.collectors.network.netstat import NetworkStackReader
from exporter.collectors.network.values import (
    DriverCounters,
    Infiniband,
    Network,
    NetworkStack,
)
from exporter.faults.subject import CollectorSubject

COLLECTOR = Collector(
    "network",
    sources=(
        files(
            "network",
            "network",
            lambda ctx: NetworkReader(ctx.proc, ctx.sys, ctx.devices, known_good=ctx.known_good),
            about=About(
                "`/proc/1/net/dev`, `/sys/class/net`",
                "`hw_network_*`",
                "host process ids or host network",
                without="see below",
            ),
        ),
        files(
            "ethtool",
            "network",
            lambda ctx: EthtoolReader(ctx.proc, ctx.sys, ctx.devices),
            about=About(
                "statistics of drivers, by ioctl",
                "pauses, discards, FEC and line errors of `hw_network_*`",
                "host network",
                without="absent",
            ),
        ),
        files(
            "network_stack",
            "network",
            lambda ctx: NetworkStackReader(ctx.proc),
            about=About(
                "`snmp`, `netstat`, `softnet_stat`, conntrack",
                "`hw_tcp_*`, `hw_softnet_*`, `hw_conntrack_*`",
                "as `network`; conntrack: host network",
                without="absent",
            ),
        ),
        files(
            "infiniband",
            "infiniband",
            lambda ctx: InfinibandReader(ctx.sys, ctx.devices.max_per_kind, ctx.known_good),
            about=About("`/sys/class/infiniband`", "`hw_infiniband_*`, `hw_rdma_events_total`"),
        ),
    ),
    values=(DriverCounters, Infiniband, Network, NetworkStack),
    old_names={("Network", "interfaces", "*"): {"carrier_up_count": ""}},
    families=FAMILIES,
    subject=CollectorSubject(
        kinds=(NIC, IB_PORT),
        node=FIELDS,
        repairs=PortRepairs,
        repair_kinds=frozenset({"link_up"}),
        joins=(adapters_of_ports,),
    ),
    rules=Path(__file__).parent / "rules",
)
