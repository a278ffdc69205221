"""Ports of InfiniBand and RoCE cards."""

import errno
import shutil
from pathlib import Path

import pytest

from exporter.collectors.network.infiniband import InfinibandReader, parse_rate, parse_state
from exporter.collectors.network.values import InfinibandPort
from exporter.model.reading import Reading
from tests.collectors.small_node import SmallNode
from tests.fakes.fuse import StuckFiles

IB = "sys/class/infiniband"


def port(node: SmallNode, device: str = "mlx5_0", **texts: object) -> str:
    """One active port with a counter; files are named with two underscores for a folder."""
    folder = f"{IB}/{device}/ports/1"
    said = {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "rate": "400 Gb/sec (4X NDR)",
        "link_layer": "InfiniBand",
        "counters/port_rcv_data": 100,
        **{name.replace("__", "/"): text for name, text in texts.items()},
    }
    node.write_all(folder, said)
    return folder


def only(node: SmallNode) -> InfinibandPort:
    """The one port of the node."""
    (found,) = InfinibandReader(node.sys, 16).read().value.ports
    return found


def test_a_port_says_its_state_speed_and_traffic(node: SmallNode) -> None:
    """Data is counted in words of four bytes, the rate in bits."""
    port(node, counters__port_xmit_data=7, counters__port_xmit_wait=3)
    found = only(node)
    assert (found.up, found.state, found.phys_state) == (True, "active", "linkup")
    assert found.rate_bytes_per_second == 50e9
    assert (found.receive_bytes, found.transmit_bytes, found.wait) == (400, 28, 3)


def test_the_rate_of_a_port_without_a_link_is_not_said(node: SmallNode) -> None:
    """A card of 25 Gbit/s says 40 while its cable is out, and is no slower with its link."""
    folder = port(node, rate="40 Gb/sec (4X QDR)", state="1: DOWN", link_layer="Ethernet")
    assert only(node).rate_bytes_per_second is None
    node.write_all(folder, {"rate": "25 Gb/sec (1X EDR)", "state": "4: ACTIVE"})
    assert only(node).rate_bytes_per_second == 3.125e9


def test_errors_and_events_keep_the_kernels_names(node: SmallNode) -> None:
    """What is not a sign of trouble is left out."""
    port(
        node, counters__symbol_error=5, counters__port_rcv_packets=9,
        hw_counters__out_of_sequence=2, hw_counters__lifespan=12, hw_counters__cnpSent=1,
    )  # fmt: skip
    found = only(node)
    assert found.errors == (("symbol_error", 5.0),)
    assert found.events == (("out_of_sequence", 2.0), ("np_cnp_sent", 1.0))


def test_a_name_that_is_given_to_another_card_is_the_other_cards(node: SmallNode) -> None:
    """The driver may number cards anew: where a card sits is kept, but not by its name alone."""
    reader = InfinibandReader(node.sys, 16)
    link = node.sys / "class/infiniband/mlx5_0"
    link.parent.mkdir(parents=True)
    seen = []
    for address in ("0000:18:00.0", "0000:5c:00.0"):
        card = f"devices/pci0000:00/{address}"
        node.write_all(f"sys/{card}/infiniband/mlx5_0/ports/1", {"state": "4: ACTIVE"})
        (node.sys / card / "infiniband/mlx5_0/device").symlink_to(node.sys / card)
        link.unlink(missing_ok=True)
        link.symlink_to(node.sys / card / "infiniband/mlx5_0")
        (found,) = reader.read().value.ports
        seen.append(found.pci_bus_id)
    assert seen == ["0000:18:00.0", "0000:5c:00.0"]


@pytest.mark.parametrize(
    ("text", "state"),
    [("4: ACTIVE", "active"), ("1: DOWN", "down"), ("5: Phy Test", "phy test"), ("ACTIVE", None),
     ("", None), ("x: y", None), ("4:", None), (None, None)],
)  # fmt: skip
def test_a_state_is_a_number_and_a_word(text: str | None, state: str | None) -> None:
    """Anything else is not said."""
    assert parse_state(text) == state


@pytest.mark.parametrize(
    ("text", "rate"),
    [("400 Gb/sec (4X NDR)", 50e9), ("2.5 Gb/sec (1X SDR)", 312.5e6), ("0 Gb/sec", None),
     ("", None), ("fast", None), ("-5 Gb/sec", None), (None, None)],
)  # fmt: skip
def test_a_rate_is_in_bytes(text: str | None, rate: float | None) -> None:
    """No rate is not a rate of zero."""
    assert parse_rate(text) == rate


@pytest.mark.system
def test_a_port_that_refuses_its_counters_is_not_asked_again(
    node: SmallNode, stuck_files: StuckFiles
) -> None:
    """Every refusal is a line in the kernel log: one is all we cause for each driver load."""
    port_folder = port(node)
    folder = node.root / port_folder
    counter = folder / "counters/port_rcv_data"
    node.stand_in(f"{port_folder}/counters/port_rcv_data", stuck_files.fail("refused", 22))
    reader = InfinibandReader(node.sys, 16)
    first = reader.read()
    counter.unlink()
    counter.write_text("100\n")
    second = reader.read()
    for reading in (first, second):
        assert reading.value.ports[0].receive_bytes is None
        assert reading.value.ports[0].up is True
    assert "not asked again" in second.missing[0].reason
    shutil.copytree(counter.parent, folder / "renewed")
    shutil.rmtree(counter.parent)
    (folder / "renewed").rename(counter.parent)
    assert reader.read().value.ports[0].receive_bytes == 400


@pytest.mark.system
@pytest.mark.parametrize(
    ("names", "error"),
    [
        (("state", "counters/port_rcv_data"), errno.EINVAL),
        (("counters/port_rcv_data",), errno.EBUSY),
        (("counters/port_rcv_data",), errno.ENOMEM),
    ],
    ids=["no state either", "firmware busy", "no memory"],
)
def test_a_card_that_failed_is_asked_again(
    node: SmallNode, stuck_files: StuckFiles, names: tuple[str, ...], error: int
) -> None:
    """What is no refusal passes, and then its counters are back."""
    folder = port(node)
    texts = {name: (node.root / folder / name).read_text() for name in names}
    for number, name in enumerate(names):
        node.stand_in(f"{folder}/{name}", stuck_files.fail(f"failed{number}", error))
    reader = InfinibandReader(node.sys, 16)
    assert reader.read().value.ports[0].receive_bytes is None
    for name, text in texts.items():
        (node.root / folder / name).unlink()
        node.write(f"{folder}/{name}", text)
    found = reader.read().value.ports[0]
    assert (found.up, found.receive_bytes) == (True, 400)


def test_virtual_functions_are_left_out(node: SmallNode) -> None:
    """A card has a hundred of them, and they belong to machines and pods."""
    port(node, "mlx5_0")
    port(node, "mlx5_1")
    node.link(f"{IB}/mlx5_1/device/physfn", "sys/devices/pci0000:00/0000:01:00.0")
    port(node, "mlx5_2")
    node.link(f"{IB}/mlx5_2/device", "sys/devices/pci0000:00/0000:01:00.0/mlx5_core.sf.4")
    assert only(node).device == "mlx5_0"


@pytest.mark.parametrize("text", ["-1", "x", "N/A (no PMA)"])
def test_a_counter_of_garbage_is_absent_with_a_reason(node: SmallNode, text: str) -> None:
    """The other counters of the port stay."""
    port(node, counters__symbol_error=text)
    reading: Reading[object] = InfinibandReader(node.sys, 16).read()
    assert only(node).errors == ()
    assert only(node).receive_bytes == 400
    assert [missing.field for missing in reading.missing] == ["mlx5_0/1 symbol_error"]


RECORDED = Path(__file__).resolve().parents[2] / "captures/infiniband/hgx_h100.ini"
UNSHOWN_PACKETS = 6
"""Counters of packets, which are no trouble."""


def recorded_cards() -> dict[str, dict[str, str]]:
    """The files of each device; those after the first say only what they have else."""
    cards: dict[str, dict[str, str]] = {}
    for section in RECORDED.read_text("utf-8").split("[")[1:]:
        device, _, body = section.partition("]\n")
        files = dict(line.split(" = ") for line in body.splitlines())
        cards[device] = {**next(iter(cards.values()), {}), **files}
    return cards


def test_a_node_of_eight_h100_is_read(node: SmallNode) -> None:
    """Six ConnectX-7 and a bond: what is a sign of trouble is shown, the rest is left out."""
    cards = recorded_cards()
    for device, files in cards.items():
        node.write_all(f"{IB}/{device}", files)
    ports = InfinibandReader(node.sys, 16).read().value.ports
    assert [found.device for found in ports] == sorted(cards)
    assert all(found.up for found in ports)
    assert [found.peers_up for found in ports] == [7] * 8 + [0]
    assert {found.rate_bytes_per_second for found in ports[:-1]} == {50e9}
    assert ports[-1].rate_bytes_per_second == 25e9
    assert ports[0].receive_bytes == 4 * 230539874932483
    assert dict(ports[1].errors)["link_downed"] == 255
    for found in ports:
        counters = [name for name in cards[found.device] if "/counters/" in name]
        moved = (found.receive_bytes, found.transmit_bytes, found.wait)
        assert None not in moved
        assert len(found.errors) == len(counters) - len(moved) - UNSHOWN_PACKETS
        assert dict(found.errors)["excessive_buffer_overrun_errors"] == 15
        assert dict(found.events)["roce_adp_retrans"] == 3
        assert "lifespan" not in dict(found.events)


def test_a_port_that_was_active_is_told_from_one_that_never_was(node: SmallNode) -> None:
    """A cable that was never there is no loss; peers tell whether the fabric is there."""
    folder = port(node)
    port(node, "mlx5_1", state="1: DOWN", phys_state="2: Polling")
    reader = InfinibandReader(node.sys, 16)

    def known() -> list[tuple[bool | None, int | None]]:
        return [(it.link_was_up, it.peers_up) for it in reader.read().value.ports]

    assert known() == [(True, 0), (False, 1)]
    node.write(f"{folder}/state", "1: DOWN\n")
    assert known() == [(True, 0), (False, 0)]
