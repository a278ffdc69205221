"""What the kernel of the simulated node would write into its log."""

from collections.abc import Iterator, Sequence

from exporter.collectors.demo.card import (
    XID_FELL_OFF,
    XID_LINK,
    XID_REMAPPED,
    XID_UNCORRECTABLE,
    Card,
)
from exporter.collectors.demo.jobs import TRAINING
from exporter.collectors.demo.node import Xid
from exporter.collectors.demo.script import FELL_OFF, SLOW_DISK, Now

UNKNOWN_PROCESS = "pid='<unknown>', name=<unknown>"
TEXTS = {
    XID_UNCORRECTABLE: (
        "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at "
        "partition 6, subpartition 0."
    ),
    XID_REMAPPED: "Row Remapper: New row marked for remapping, reset gpu to activate.",
    XID_LINK: "NVLink: fatal error detected on link 4(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
    XID_FELL_OFF: "GPU has fallen off the bus.",
}
HUNG_TASK_SECS = 125


def of_gpus(xids: Sequence[Xid]) -> Iterator[str]:
    """Write the driver's lines about these errors."""
    for xid in xids:
        address = xid.card.pci_bus_id.removesuffix(".0")
        text = TEXTS[xid.code]
        yield f"NVRM: Xid (PCI:{address}): {xid.code}, {UNKNOWN_PROCESS}, {text}"


def of_bus(before: Now, now: Now, cards: Sequence[Card]) -> Iterator[str]:
    """Write the kernel's lines about a GPU that falls off the bus, and comes back."""
    for card in cards:
        was_down, is_down = (
            moment.of_gpu(FELL_OFF, card.index) is not None for moment in (before, now)
        )
        if was_down is not is_down:
            word = "Down" if is_down else "Up"
            yield f"pcieport {card.port}: pciehp: Slot({card.slot}): Link {word}"


def of_host(now: Now) -> Iterator[str]:
    """Write the kernel's lines about the disk that does not answer, and who waits for it."""
    if now.of_node(SLOW_DISK) == HUNG_TASK_SECS:
        pid = TRAINING.first_pid
        yield f"INFO: task {TRAINING.command}:{pid} blocked for more than 120 seconds."
