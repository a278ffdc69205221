"""Classes of errors that are seldom and come again and again; alone each of them is nothing."""

from tests.corpus.labels import healthy, incident
from tests.corpus.machines import processors_only
from tests.corpus.parts import Tree
from tests.corpus.story import Story

HOUR = 3600


def _resets(node: Story, port: int, times: int, every: int) -> None:
    """A command of a SATA disk fails and its link is reset, so many times."""
    node.wait(60)
    for number in range(times):
        node.log(
            f"ata{port}.00: exception Emask 0x10 SAct 0x8000 SErr 0x400100 action 0x6 frozen\n"
            f"ata{port}.00: irq_stat 0x08000000, interface fatal error\n"
            f"ata{port}: SError: {{ UnrecovData Handshk }}\n"
            f"ata{port}.00: failed command: WRITE FPDMA QUEUED\n"
            f"ata{port}.00: cmd 61/08:78:{number:02x}:08:00/00:00:00:00:00/40 tag 15 "
            "ncq dma 4096 out\n"
            "         res 40/00:78:00:08:00/00:00:00:00:00/40 Emask 0x10 (ATA bus error)\n"
            f"ata{port}: hard resetting link\n"
            f"ata{port}: SATA link up 6.0 Gbps (SStatus 133 SControl 300)\n"
            f"ata{port}: EH complete"
        )
        node.wait(every, every // 6)


@incident(
    "disk_link_errors@node", unfit=False, lasts=("disk_link_errors@node",), node=processors_only
)
def cable_of_a_disk_fails_every_half_hour(node: Story) -> None:
    """Eight resets of one link within four hours."""
    _resets(node, 5, 8, 1800)


@incident("disk_link_errors@node", unfit=False, node=processors_only)
def cable_of_a_disk_fails_every_two_hours(node: Story) -> None:
    """Ten resets of one link within a day."""
    _resets(node, 1, 10, 2 * HOUR)


@healthy(node=processors_only)
def links_of_two_disks_are_reset_once_each(node: Story) -> None:
    """Two resets half a day apart, of different links."""
    _resets(node, 3, 1, 12 * HOUR)
    _resets(node, 4, 1, 12 * HOUR)


def _is_polled(node: Story, times: int, every: int) -> None:
    node.wait(60)
    for tag in range(times):
        node.log(
            f"nvme nvme1: I/O tag {tag + 7} (c00{tag % 10}) opcode 0x2 (I/O Cmd) QID 3 timeout, "
            "completion polled"
        )
        node.wait(every, every // 6)


@incident("nvme_timeout@nvme1*", unfit=False, node=processors_only)
def interrupts_of_a_disk_are_lost_every_three_hours(node: Story) -> None:
    """Eight commands of a day had completed, and nobody was told."""
    _is_polled(node, 8, 3 * HOUR)


@healthy(node=processors_only)
def interrupt_of_a_disk_is_lost_twice_a_day(node: Story) -> None:
    """Two commands were found complete by polling, twelve hours apart."""
    _is_polled(node, 2, 12 * HOUR)


def _without_edac() -> Tree:
    """A server whose firmware corrects and reports errors; no driver counts them."""
    node = processors_only()
    del node["MemoryErrors"]
    return node


def _reports(node: Story, times: int, every: int, section: str = "memory error") -> None:
    """The firmware reports a corrected error so many times."""
    node.wait(60)
    for number in range(times):
        said = f"{{{number + 1}}}[Hardware Error]:"
        node.log(
            f"{said} Hardware error from APEI Generic Hardware Error Source: 1\n"
            f"{said} It has been corrected by h/w and requires no further action\n"
            f"{said} event severity: corrected\n"
            f"{said}  Error 0, type: corrected\n"
            f"{said}   section_type: {section}\n"
            f"{said}    error_status: Storage error in DRAM memory (0x0000000000000400)\n"
            f"{said}   physical_address: 0x{0x2F00_0000 + 64 * number:016x}"
        )
        node.wait(every, max(30, every // 6))


@incident("firmware_hardware_error@node", unfit=False, node=_without_edac)
def firmware_corrects_memory_twice_a_minute(node: Story) -> None:
    """Two hundred corrected errors within two hours, which nothing else counts."""
    _reports(node, 200, 30)


@incident("firmware_hardware_error@node", unfit=False, node=_without_edac)
def firmware_corrects_a_cache_twice_a_minute(node: Story) -> None:
    """Corrected errors of an ARM processor, again and again."""
    _reports(node, 150, 30, "ARM processor error")


@healthy(node=_without_edac)
def firmware_corrects_memory_now_and_then(node: Story) -> None:
    """Six corrected errors in three hours."""
    _reports(node, 6, 1800)


@healthy(node=processors_only)
def driver_counts_what_the_firmware_corrects(node: Story) -> None:
    """Forty corrected errors in two hours; EDAC counts them, and they are not many."""
    node.rate(40 / (2 * HOUR), "MemoryErrors", "controllers", "mc1", "corrected_errors")
    node.rate(
        40 / (2 * HOUR), "MemoryErrors", "controllers", "mc1", "dimms", "a", "corrected_errors"
    )
    _reports(node, 40, 180)


def _receives_badly(node: Story, times: int, every: int) -> None:
    """A port of an NVSwitch reports a high error rate over a short window."""
    switch = "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20009"
    node.wait(60)
    for _ in range(times):
        node.log(
            f"{switch}, Non-fatal, Link 31 RX Short Error Rate\n"
            f"{switch}, Severity 0 Engine instance 31 Sub-engine instance 00"
        )
        node.wait(every, every // 6)


@incident("nvswitch_warning@*", unfit=False)
def port_of_a_switch_receives_badly_each_hour(node: Story) -> None:
    """Twelve times within half a day, always the same port."""
    _receives_badly(node, 12, HOUR)


@healthy()
def port_of_a_switch_receives_badly_twice(node: Story) -> None:
    """Two reports half a day apart."""
    _receives_badly(node, 2, 12 * HOUR)


CASES = (
    cable_of_a_disk_fails_every_half_hour,
    cable_of_a_disk_fails_every_two_hours,
    links_of_two_disks_are_reset_once_each,
    interrupts_of_a_disk_are_lost_every_three_hours,
    interrupt_of_a_disk_is_lost_twice_a_day,
    firmware_corrects_memory_twice_a_minute,
    firmware_corrects_a_cache_twice_a_minute,
    firmware_corrects_memory_now_and_then,
    driver_counts_what_the_firmware_corrects,
    port_of_a_switch_receives_badly_each_hour,
    port_of_a_switch_receives_badly_twice,
)
