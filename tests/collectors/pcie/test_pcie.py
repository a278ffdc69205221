"""The PCI Express bus: links and errors of cards and of the ports above them."""

from typing import Any

import pytest

from exporter.collectors.pcie.devices import PcieReader, parse_aer, parse_speed
from exporter.collectors.pcie.values import Pcie, PcieDevice, PcieError
from exporter.model.reading import Reading
from exporter.reading.source import SourceAbsent
from tests.collectors.small_node import SmallNode

PORT = "0000:00:01.0"
GPU = "0000:01:00.0"
AER = "RxErr 3\nBadTLP 0\nTOTAL_ERR_COR 3\n"


def card(node: SmallNode, address: str = GPU, above: str | None = PORT, **texts: object) -> str:
    """A card below a port; a GPU of x16 at 32 GT/s unless its files say otherwise."""
    folder = "/".join(part for part in ("sys/devices/pci0000:00", above, address) if part)
    said = {
        "class": "0x030200",
        "vendor": "0x10de",
        "numa_node": 0,
        "current_link_speed": "32.0 GT/s PCIe",
        "max_link_speed": "32.0 GT/s PCIe",
        "current_link_width": 16,
        "max_link_width": 16,
        **texts,
    }
    node.write_all(folder, said)
    node.link(f"sys/bus/pci/devices/{address}", folder)
    return folder


def port(node: SmallNode, address: str = PORT, **texts: object) -> None:
    """The port above the cards."""
    card(node, address, None, **{"class": "0x060400", "vendor": "0x8086", **texts})


def look(node: SmallNode) -> dict[str, PcieDevice]:
    """The devices by address."""
    reading: Reading[Pcie] = PcieReader(node.sys).read()
    return {device.device: device for device in reading.value.devices}


def test_a_card_and_every_port_above_it_are_watched(node: SmallNode) -> None:
    """Ports that lead to nothing that matters are left out."""
    port(node)
    port(node, "0000:00:02.0")
    card(node)
    found = look(node)
    assert list(found) == [PORT, GPU]
    assert (found[GPU].parent, found[GPU].kind, found[PORT].kind) == (PORT, "gpu", "port")


@pytest.mark.parametrize(
    ("vendor", "driver", "is_unbound", "is_passed_through"),
    [
        ("0x10de", None, True, False),
        ("0x10de", "nvidia", False, False),
        ("0x10de", "vfio-pci", False, True),
        ("0x10de", "nvgrace_gpu_vfio_pci", False, True),
        ("0x10de", "pci-stub", False, True),
        ("0x8086", None, False, False),
    ],
)
def test_a_gpu_is_told_by_its_driver(
    node: SmallNode, vendor: str, driver: str | None, *, is_unbound: bool, is_passed_through: bool
) -> None:
    """One of NVIDIA needs a driver; the screen of a processor may do without.

    A card without a driver is not given away to a virtual machine: its driver may have failed.
    """
    folder = card(node, above=None, vendor=vendor)
    if driver:
        node.link(f"{folder}/driver", f"sys/bus/pci/drivers/{driver}")
    device = look(node)[GPU]
    assert (device.driver, device.is_unbound_gpu) == (driver, is_unbound)
    assert device.is_passed_through is is_passed_through


@pytest.mark.parametrize(
    ("code", "vendor", "kind"),
    [
        ("0x030000", "0x10de", "gpu"),
        ("0x120000", "0x1002", "gpu"),
        ("0x020000", "0x8086", "network"),
        ("0x020700", "0x15b3", "network"),
        ("0x010802", "0x144d", "nvme"),
        ("0x038000", "0x8086", "gpu"),
        ("0x120000", "0x19e5", "gpu"),
        ("0x030000", "0x1a03", None),
        ("0x030000", "0x19e5", None),
        ("0x030000", "0x1d0f", None),
        ("0x038000", "0x1af4", None),
        ("0x010601", "0x8086", None),
        ("garbage", "", None),
    ],
)
def test_the_class_tells_what_matters(
    node: SmallNode, code: str, vendor: str, kind: str | None
) -> None:
    """The screen of a management controller (also Huawei's) or a virtual machine is no GPU."""
    card(node, **{"class": code, "vendor": vendor})
    if kind is None:
        with pytest.raises(SourceAbsent):
            look(node)
    else:
        assert look(node)[GPU].kind == kind


@pytest.mark.parametrize(
    ("text", "speed"),
    [("2.5 GT/s PCIe", 250e6), ("5.0 GT/s PCIe", 500e6), ("8.0 GT/s PCIe", 984615385),
     ("32.0 GT/s PCIe", 3938461538), ("64.0 GT/s PCIe", 8e9 * 242 / 256), ("Unknown", None),
     ("", None), ("-5 GT/s", None)],
)  # fmt: skip
def test_speeds_are_bytes_of_one_lane(text: str, speed: float | None) -> None:
    """Without the bits that only carry the clock."""
    assert parse_speed(text) == speed


@pytest.mark.parametrize(
    ("own", "above", "is_reduced"),
    [
        ({}, {}, False),
        ({"current_link_width": 8}, {}, True),
        ({"current_link_width": 8}, {"max_link_width": 8}, False),
        ({"current_link_width": 8}, {"vendor": "0x1b36", "max_link_width": 32}, None),
        ({"current_link_width": 8}, {"vendor": "0x15ad", "max_link_width": 32}, None),
        ({"current_link_speed": "2.5 GT/s PCIe"}, {}, False),
        ({"current_link_width": 0}, {}, None),
        ({"current_link_width": 255}, {}, None),
        ({"class": "0x010802", "current_link_speed": "8.0 GT/s PCIe"}, {}, True),
        (
            {"class": "0x010802", "current_link_speed": "8.0 GT/s PCIe"},
            {"max_link_speed": "8.0 GT/s PCIe"},
            False,
        ),
    ],
)
def test_a_link_is_reduced_when_both_ends_can_do_better(
    node: SmallNode,
    own: dict[str, Any],
    above: dict[str, Any],
    *,
    is_reduced: bool | None,
) -> None:
    """A slot that can do no more is no fault; an idle GPU slows down by itself.

    Of a card that is passed through, the port that the virtual machine shows is no end.
    """
    port(node, **above)
    card(node, **own)
    assert look(node)[GPU].is_reduced is is_reduced


def test_a_port_is_not_judged(node: SmallNode) -> None:
    """Its link is that of the card below, which is judged."""
    port(node, current_link_width=4)
    card(node)
    assert look(node)[PORT].is_reduced is None


def test_errors_are_by_severity_and_name(node: SmallNode) -> None:
    """Those that occurred one by one, sums also when zero, the kernel's total not twice."""
    port(node)
    card(node, aer_dev_correctable=AER, aer_dev_nonfatal="TLP 0\nTOTAL_ERR_NONFATAL 0")
    device = look(node)[GPU]
    assert device.errors == (PcieError("correctable", "RxErr", 3),)
    assert device.errors_by_severity == (("correctable", 3), ("nonfatal", 0))


def test_a_file_without_errors_by_name_is_no_zero(node: SmallNode) -> None:
    """What cannot be understood is not known: the severity is absent."""
    port(node)
    card(node, aer_dev_correctable=AER, aer_dev_fatal="TOTAL_ERR_FATAL 1")
    assert look(node)[GPU].errors_by_severity == (("correctable", 3),)


@pytest.mark.parametrize("name", ["PCRC_CHECK", "dev_fatal_errs_bit[27]", "Poisoned TLP"])
def test_every_error_counts_whatever_its_name(name: str) -> None:
    """New kernels have names with underscores, old ones with blanks, or only the bit."""
    text = f"DLP 0\n{name} 1\nTOTAL_ERR_FATAL 1\n"
    assert parse_aer(text) == {"DLP": 0, name: 1}


@pytest.mark.parametrize("text", ["", "garbage", "RxErr", "RxErr -1", "RxErr x", "\x00 5"])
def test_garbage_is_no_error(text: str) -> None:
    """A line that is not a name and a count adds nothing."""
    assert parse_aer(text) == {}


def test_a_card_that_sleeps_is_not_asked_for_its_link(node: SmallNode) -> None:
    """Reading its registers would wake it, or read all ones."""
    port(node)
    card(node, **{"power/runtime_status": "suspended"})
    device = look(node)[GPU]
    assert device.suspended
    assert (device.width, device.is_reduced) == (None, None)


def test_virtual_functions_are_left_out(node: SmallNode) -> None:
    """They have no link of their own."""
    port(node)
    card(node)
    folder = card(node, "0000:01:00.1")
    node.link(f"{folder}/physfn", f"sys/devices/pci0000:00/{PORT}/{GPU}")
    assert list(look(node)) == [PORT, GPU]


def test_the_slot_of_a_card_is_named(node: SmallNode) -> None:
    """Whoever replaces it finds it."""
    port(node)
    card(node)
    node.write("sys/bus/pci/slots/7/address", "0000:01:00\n")
    assert look(node)[GPU].slot == "7"


def test_a_card_that_goes_is_gone_and_one_that_comes_is_found(node: SmallNode) -> None:
    """What is kept between two looks is read again when the devices change."""
    port(node)
    card(node)
    reader = PcieReader(node.sys)
    reader.read()
    card(node, "0000:01:01.0")
    (node.sys / "bus/pci/devices" / GPU).unlink()
    assert [device.device for device in reader.read().value.devices] == [PORT, "0000:01:01.0"]


def test_a_card_that_is_replaced_has_the_limits_of_the_new_one(node: SmallNode) -> None:
    """What a link can do at most is kept for the devices that are there, not for a slot."""
    port(node)
    card(node)
    card(node, "0000:01:01.0")
    reader = PcieReader(node.sys)
    reader.read()
    link = node.sys / "bus/pci/devices" / GPU
    link.unlink()
    reader.read()
    card(node, max_link_speed="16.0 GT/s PCIe", max_link_width=8)
    device = next(it for it in reader.read().value.devices if it.device == GPU)
    assert (device.speed_max_bytes_per_second, device.width_max) == (parse_speed("16.0 GT/s"), 8)


@pytest.mark.parametrize(
    ("code", "place", "comes_and_goes"),
    [
        ("0x020000", "VMBUS:00/47505500-0001-0000-3130-444531334632/pci0001:00", True),
        ("0x020700", "VMBUS:00/47505500-0001-0000-3130-444531334632/pci0001:00", False),
        ("0x020000", "pci0001:00", False),
    ],
)
def test_ethernet_that_azure_lends_comes_and_goes(
    node: SmallNode, code: str, place: str, *, comes_and_goes: bool
) -> None:
    """It takes the function back while it maintains the host; InfiniBand has no stand-in."""
    folder = f"sys/devices/{place}/0001:00:02.0"
    node.write_all(folder, {"class": code, "vendor": "0x15b3"})
    node.link("sys/bus/pci/devices/0001:00:02.0", folder)
    assert look(node)["0001:00:02.0"].comes_and_goes == comes_and_goes


@pytest.mark.parametrize("driver", ["ena", "vfio-pci", None])
def test_an_adapter_of_a_hypervisor_comes_and_goes_with_any_driver(
    node: SmallNode, driver: str | None
) -> None:
    """Bound to vfio-pci for a program and back, it is never a card that disappeared."""
    folder = card(node, above=None, **{"class": "0x020000", "vendor": "0x1d0f"})
    if driver:
        node.link(f"{folder}/driver", f"sys/bus/pci/drivers/{driver}")
    (device,) = look(node).values()
    assert device.comes_and_goes
