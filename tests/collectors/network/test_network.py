"""Network interfaces: what `net/dev` and sysfs say, and whose they are."""

from typing import Any

import pytest

from exporter.collectors.network.interfaces import (
    NetworkReader,
    OwnRoots,
    parse_admin_up,
    parse_dev,
)
from exporter.collectors.network.values import Interface, Network
from exporter.config import Devices
from exporter.model.reading import Reading
from exporter.reading.known_good import KnownGood
from exporter.reading.pid_namespace import INITIAL
from exporter.reading.source import SourceFailed
from tests.collectors.small_node import NET_DEV_HEAD, SmallNode
from tests.fakes.refused import refuse


def look(node: SmallNode, *, limit: int = 16, **more: Any) -> Reading[Network]:
    """The interfaces of the node, chosen as by default; `more` is for the reader."""
    return NetworkReader(node.proc, node.sys, Devices(max_per_kind=limit), **more).read()


def named(reading: Reading[Network]) -> dict[str, Interface]:
    """The interfaces of a reading by their names."""
    return {interface.device: interface for interface in reading.value.interfaces}


def only(node: SmallNode) -> Interface:
    """The one interface of the node."""
    (interface,) = look(node).value.interfaces
    return interface


def test_an_interface_says_all_it_knows(node: SmallNode) -> None:
    """Counters from net/dev, everything else from sysfs, the speed in bytes."""
    node.interface("eth0", pci="0000:04:00.0")
    assert only(node) == Interface(
        device="eth0",
        receive_bytes=1000,
        receive_packets=10,
        receive_errors=1,
        receive_drops=2,
        transmit_bytes=2000,
        transmit_packets=20,
        transmit_errors=3,
        transmit_drops=4,
        up=True,
        admin_up=True,
        speed_bytes_per_second=25000 * 125000.0,
        carrier_changes=2,
        driver="mlx5_core",
        pci_bus_id="0000:04:00.0",
        numa_node=1,
        mtu=1500,
        link_was_up=True,
        peers_up=0,
        operstate="up",
    )


def test_virtual_interfaces_are_left_out(node: SmallNode) -> None:
    """A node with a hundred pods shows its own interfaces only."""
    for name in ("lo", "eth0", *(f"veth{number}" for number in range(100))):
        node.interface(name)
    assert [interface.device for interface in look(node).value.interfaces] == ["eth0"]


@pytest.mark.parametrize(
    ("operstate", "carrier", "is_up"),
    [("up", 1, True), ("down", 0, False), ("unknown", 1, True), ("unknown", 0, False)],
)
def test_a_driver_without_a_state_has_its_carrier_asked(
    node: SmallNode, operstate: str, carrier: int, *, is_up: bool
) -> None:
    """Some drivers leave the state unknown for ever."""
    node.interface("eth0", operstate=operstate, carrier=carrier)
    assert only(node).up is is_up


@pytest.mark.parametrize(
    ("speed", "operstate"),
    [*((it, "up") for it in ("-1", "0", "", "garbage", "4294967295x")), ("25000", "down")],
)
def test_an_unknown_speed_is_not_said(node: SmallNode, speed: str, operstate: str) -> None:
    """Virtual drivers answer -1, and others keep the last speed of a link that is gone."""
    node.interface("eth0", speed=speed, operstate=operstate)
    assert only(node).speed_bytes_per_second is None


def test_an_interface_without_numa_node_says_none(node: SmallNode) -> None:
    """The kernel writes -1 where the firmware does not say."""
    node.interface("eth0", pci="0000:04:00.0")
    node.write("sys/devices/pci0000:00/0000:04:00.0/numa_node", "-1\n")
    assert only(node).numa_node is None


def test_garbage_counters_are_absent_with_a_reason(node: SmallNode) -> None:
    """A negative counter costs itself, not the interface."""
    line = "eth0: -5 10 x 2 0 0 0 0 2000 20 3 18446744073709551616 0 0 0 0\n"
    interface = parse_dev(NET_DEV_HEAD + line)["eth0"]
    assert (interface.receive_bytes, interface.receive_packets) == (None, 10)
    assert (interface.receive_errors, interface.transmit_drops) == (None, None)
    node.interface("eth0")
    node.write("proc/1/net/dev", NET_DEV_HEAD + line)
    fields = [missing.field for missing in look(node).missing]
    assert fields == ["eth0 receive_bytes", "eth0 receive_errors", "eth0 transmit_drops"]


def test_more_interfaces_than_the_limit_are_counted(node: SmallNode) -> None:
    """A flood of interfaces does not become a flood of series."""
    for number in range(20):
        node.interface(f"eth{number:02}")
    reading = look(node)
    assert len(reading.value.interfaces) == 16
    assert reading.missing[0].reason.startswith("4 more")


def test_interfaces_of_pods_and_functions_leave_no_card_out(node: SmallNode) -> None:
    """They may come first by name, and by the dozen."""
    node.interface("eni0a1b2c3d4e5")
    node.interface("ens1f0v0", pci="0000:04:00.2")
    node.link("sys/class/net/ens1f0v0/device/physfn", "sys/devices/pci0000:00/0000:04:00.0")
    node.interface("ens1f1", pci="0000:04:00.1")
    assert [*named(look(node, limit=1))] == ["ens1f1"]


def test_sysfs_of_another_namespace_is_not_believed(node: SmallNode) -> None:
    """The counters of the node's eth0 are not given the driver and speed of a pod's eth0."""
    node.interface("eth0")
    node.interface("eth1")
    (node.sys / "class/net/eth1").rename(node.root / "gone")
    reading = look(node)
    assert [interface.operstate for interface in reading.value.interfaces] == [None, None]
    assert [interface.receive_bytes for interface in reading.value.interfaces] == [1000, 1000]
    assert reading.missing[0].reason == "sysfs shows another network namespace"


def test_a_pods_own_interface_is_never_the_nodes(node: SmallNode) -> None:
    """Without the host's process ids and with no hardware behind it, eth0 is a pod's."""
    node.interface("eth0")
    reading = look(node, own=OwnRoots(node.proc, node.sys))
    assert (reading.value.namespace, reading.value.interfaces) == ("pod", ())
    assert reading.missing


def test_the_nodes_sysfs_does_not_make_a_pods_interface_the_nodes(node: SmallNode) -> None:
    """The node has an eth0 with hardware; that of the pod has the same name and none."""
    node.interface("eth0", pci="0000:04:00.0")
    own_sys = node.root / "own-sys"
    (own_sys / "class/net/eth0").mkdir(parents=True)
    reading = look(node, own=OwnRoots(node.proc, own_sys))
    assert (reading.value.namespace, reading.value.interfaces) == ("pod", ())


def test_hardware_behind_an_interface_tells_the_nodes_network(node: SmallNode) -> None:
    """A pod that uses the node's network sees its cards even without the host's process ids."""
    node.interface("eth0", pci="0000:04:00.0")
    assert look(node, own=OwnRoots(node.proc, node.sys)).value.namespace == "host"


def test_the_hosts_process_ids_tell_the_nodes_network(node: SmallNode) -> None:
    """In the first process-id namespace, process 1 is the node's."""
    node.interface("eth0")
    namespace = node.proc / "self/ns/pid"
    namespace.parent.mkdir(parents=True)
    namespace.symlink_to(INITIAL)
    assert look(node, own=OwnRoots(node.proc, node.sys)).value.namespace == "host"


@pytest.mark.parametrize("is_refused", [False, True], ids=["hidepid=2", "hidepid=1"])
def test_without_process_1_our_own_table_is_read(node: SmallNode, *, is_refused: bool) -> None:
    """Some mounts hide other processes: `net/dev` is there all the same."""
    node.interface("eth0")
    (node.proc / "net").mkdir()
    (node.proc / "1/net/dev").rename(node.proc / "net/dev")
    (node.proc / "1/net").rmdir()
    if is_refused:
        refuse(node.proc / "1/net")
    assert only(node).device == "eth0"


@pytest.mark.parametrize(
    ("flags", "is_up"), [("0x1003", True), ("0x1002", False), ("", None), ("x", None), (None, None)]
)
def test_the_flags_tell_whether_it_shall_be_up(flags: str | None, *, is_up: bool | None) -> None:
    """Bit 0 of a hexadecimal number; what is none says nothing."""
    assert parse_admin_up(flags) is is_up


def test_an_alias_with_a_colon_keeps_its_name() -> None:
    """The last colon ends the name."""
    line = "eth0:1: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"
    assert parse_dev(NET_DEV_HEAD + line)["eth0:1"].receive_bytes == 1


@pytest.mark.parametrize("text", ["", "garbage", "eth0: 1 2 3"])
def test_what_is_no_table_is_a_failure(text: str) -> None:
    """An empty file is not a node without network."""
    with pytest.raises(SourceFailed):
        parse_dev(text)


def test_an_interface_that_comes_between_two_reads_hides_nothing(node: SmallNode) -> None:
    """The table is read again where sysfs lists another set: then both agree."""
    node.interface("eth0")
    before = (node.proc / "1/net/dev").read_text()
    node.interface("eth1")
    answers = [before]
    reading = look(node, read_file=lambda path: answers.pop() if answers else path.read_text())
    assert (named(reading)["eth0"].up, reading.missing) == (True, ())


def test_a_link_that_was_up_is_told_from_an_empty_cage(node: SmallNode) -> None:
    """An interface that lost its link had one; a cage that was always empty never did."""
    node.interface("eth0", pci="0000:04:00.0")
    node.interface("eth1", pci="0000:04:00.1", operstate="down")
    known_good = KnownGood()

    def interfaces() -> dict[str, Interface]:
        return named(look(node, known_good=known_good))

    assert (interfaces()["eth0"].link_was_up, interfaces()["eth1"].link_was_up) == (True, False)
    node.write("sys/class/net/eth0/operstate", "down\n")
    lost = interfaces()["eth0"]
    assert (lost.up, lost.link_was_up) == (False, True)


def test_interfaces_of_pods_are_not_remembered(node: SmallNode) -> None:
    """Each pod brings a new name: they would leave no room for what has a cable."""
    node.interface("eni0a1b2c3d4e5")
    node.interface("eth0", pci="0000:04:00.0")
    found = named(look(node, known_good=KnownGood(max_keys=1)))
    assert [found[name].link_was_up for name in ("eni0a1b2c3d4e5", "eth0")] == [None, True]


@pytest.mark.parametrize(
    ("file", "text", "has_cable"),
    [
        ("phys_port_name", "p0", True),
        ("phys_port_name", "1", True),
        ("phys_port_name", "pf0vf3", False),
        ("phys_port_name", "c1pf0sf7", False),
        ("phys_port_name", "pf1hpf", False),
        ("uevent", "INTERFACE=eth0\nIFINDEX=2", True),
        ("uevent", "DEVTYPE=wlan\nINTERFACE=eth0\nIFINDEX=2", False),
        ("uevent", "DEVTYPE=wwan\nINTERFACE=eth0\nIFINDEX=2", False),
    ],
)
def test_what_has_no_cable_cannot_be_unplugged(
    node: SmallNode, file: str, text: str, *, has_cable: bool
) -> None:
    """A representor's link is down while nobody uses its function, and Wi-Fi comes and goes."""
    node.interface("eth0", pci="0000:04:00.0")
    node.write(f"sys/class/net/eth0/{file}", f"{text}\n")
    assert only(node).pci_bus_id == ("0000:04:00.0" if has_cable else None)


def test_a_subfunction_has_no_cable_and_leaves_no_card_out(node: SmallNode) -> None:
    """An adapter has hundreds of them, for pods; their links are down while nobody uses them."""
    node.interface("enp8s0f0s88", pci="0000:08:00.0/mlx5_core.sf.4")
    node.interface("eth0", pci="0000:08:00.0")
    assert [*named(look(node, limit=1))] == ["eth0"]
    assert named(look(node))["enp8s0f0s88"].pci_bus_id is None


def test_peers_are_the_others_of_the_same_driver_that_are_up(node: SmallNode) -> None:
    """The port that is down of a card with two has a peer; one without driver has none."""
    node.interface("eth0", pci="0000:04:00.0")
    node.interface("eth1", pci="0000:04:00.1", operstate="down")
    node.interface("bond0")
    found = named(look(node))
    peers = [found[name].peers_up for name in ("eth0", "eth1", "bond0")]
    assert peers == [0, 1, None]
