"""What the board says of itself."""

from exporter.collectors.node.dmi import DmiReader
from exporter.collectors.node.values import Hardware
from tests.collectors.small_node import SmallNode

DMI = "sys/class/dmi/id"


def test_the_board_says_its_names(node: SmallNode) -> None:
    """Maker, product, board and firmware; serial numbers are not read."""
    node.write_all(
        DMI,
        {
            "sys_vendor": "Example Inc.",
            "product_name": "GS-8",
            "board_name": "B1",
            "bios_version": "2.7",
            "bios_date": "01/31/2026",
            "product_serial": "SECRET",
        },
    )
    reading = DmiReader(node.sys).read()
    assert reading.value == Hardware("Example Inc.", "GS-8", "B1", "2.7", "01/31/2026")
    assert "SECRET" not in repr(reading)


def test_what_makers_leave_in_is_no_name(node: SmallNode) -> None:
    """A placeholder is an absent name."""
    texts = {"sys_vendor": "To Be Filled By O.E.M.", "product_name": "Default string"}
    node.write_all(DMI, texts | {"bios_version": "1.0"})
    assert DmiReader(node.sys).read().value == Hardware(bios_version="1.0")
