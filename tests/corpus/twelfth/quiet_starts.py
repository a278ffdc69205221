"""Quiet starts and ends: boots, upgrades, planned resets, virtual machines, maintenance."""

from tests.corpus.eleventh.nodes import HOUR, aborts, starts
from tests.corpus.fifth.nodes import loads, unloads
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import is_reset, releases
from tests.corpus.seventh.nodes import restarts
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import (
    backup_server,
    box_of_b200,
    box_of_h100,
    box_of_h200,
    database_server,
    desk_of_4080,
    four_a100,
    four_l40s,
    guest_of_l4,
    two_h100,
    web_worker,
)

IDLE = ("gpu_idle_allocated", "gpu_allocated_unused", "gpu_persistence_off")
BOOT = (
    "x86/fpu: Supporting XSAVE feature 0x002: 'SSE registers'",
    "mce: CPU0: Thermal monitoring enabled (TM1)",
    "RAS: Correctable Errors collector initialized.",
    "ERST: Error Record Serialization Table (ERST) support is initialized.",
    "GHES: APEI firmware first mode is enabled by APEI bit and WHEA _OSC.",
    "EDAC MC: Ver: 3.0.0",
    "EDAC i10nm: No hbm memory",
    "pcieport 0000:17:01.0: AER: enabled with IRQ 131",
    "pcieport 0000:17:01.0: DPC: enabled with IRQ 131",
    "acpi PNP0A08:00: _OSC: platform does not support [SHPCHotplug LTR]",
    "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
    "nvme nvme0: Shutdown timeout set to 8 seconds",
    "nvme nvme0: 96/0/0 default/read/poll queues",
)


@healthy(*IDLE, node=box_of_h200)
def box_is_switched_on_after_its_move(node: Story) -> None:
    """A node of eight cards starts in a new hall; its switches train links and say so."""
    node.put("Host", uptime_secs=47.0)
    aborts(node)
    node.log(
        *BOOT,
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 234",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  575.51.03  Release Build",
        *(
            f"nvidia-nvswitch3: SXid (PCI:0000:08:00.0): 22013, Non-fatal, Link {link} Minion Link "
            "DLREQ interrupt"
            for link in (44, 45, 46)
        ),
        "mlx5_core 0000:18:00.0: firmware version: 28.43.2026",
        "mlx5_core 0000:18:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
        "mlx5_core 0000:18:00.0: Port module event: module 0, Cable plugged",
    )
    node.wait(1200, 30)
    starts(node, box_of_h200, 7720)
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=box_of_b200)
def driver_of_a_drained_node_is_renewed(node: Story) -> None:
    """A drained node gets a newer driver: unload, five minutes of work, load, and a job again."""
    node.wait(900, 60)
    aborts(node, watts=144.0)
    node.wait(600, 60)
    unloads(node, 300)
    loads(node, box_of_b200, "580.105.08")
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=four_a100)
def card_is_reset_for_a_change_of_its_mode(node: Story) -> None:
    """Between two jobs an operator resets one card to change its mode; nothing was wrong."""
    node.wait(1200, 60)
    aborts(node, watts=62.0, heat=30.0)
    node.wait(180, 30)
    is_reset(node, "26")
    node.gpu("26", temperature_celsius=30.0)
    node.wait(240, 60)
    starts(node, four_a100, 17_730)
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=two_h100)
def sweep_of_a_hundred_settings_runs(node: Story) -> None:
    """Short jobs follow each other on two boards, with half a minute between them."""
    first = 4711
    for number in range(24):
        node.wait(420, 30)
        aborts(node, watts=64.0, heat=37.0, first=first)
        node.wait(30)
        first = 52_000 + 60 * number
        starts(node, two_h100, first)
    node.wait(600, 60)


@healthy(*IDLE, "attribution_low", node=four_l40s)
def last_board_is_given_to_a_guest(node: Story) -> None:
    """A server of models ends on the last board, which is handed to a virtual machine."""
    node.wait(1200, 60)
    node.put("Workloads", "clients", **{"4714": None})
    node.put("Workloads", "uses", ad=None)
    node.gpu("ad", processes=[], utilization_percent=0.0, power_draw_watts=35.0)
    node.gpu("ad", power_average_watts=35.0, memory_used_bytes=0, temperature_celsius=40.0)
    node.wait(90, 30)
    node.log(
        "vfio-pci 0000:ad:00.0: enabling device (0140 -> 0142)",
        "vfio-pci 0000:ad:00.0: resetting",
        "vfio-pci 0000:ad:00.0: reset done",
    )
    node.put("Pcie", "devices", "ad", driver="vfio-pci")
    node.put("Gpus", states={"ad": None})
    node.wait(4 * HOUR, 120)


@healthy(*IDLE, node=desk_of_4080)
def desk_sleeps_over_lunch(node: Story) -> None:
    """A desk is put to sleep and wakes up fifty minutes later; its disk and network come back."""
    node.wait(1200, 60)
    aborts(node, watts=19.0, heat=37.0)
    node.log("PM: suspend entry (deep)")
    node.wait(3000, 3000)
    node.log(
        "ACPI: PM: Waking up from system sleep state S3",
        "nvme nvme0: 24/0/0 default/read/poll queues",
        "igc 0000:05:00.0 enp5s0: NIC Link is Up 2500 Mbps Full Duplex, Flow Control: RX/TX",
        "usb 1-7: reset high-speed USB device number 3 using xhci_hcd",
        "OOM killer enabled.",
        "Restarting tasks ... done.",
        "PM: suspend exit",
    )
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=guest_of_l4)
def guest_with_an_l4_is_created(node: Story) -> None:
    """A guest is created for a day of tests: it starts, loads a model and serves it."""
    node.put("Host", uptime_secs=22.0)
    aborts(node, watts=12.0, heat=33.0)
    node.log(
        "gve 0000:00:04.0: GVE version 1.0.0",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024",
        "nvidia-uvm: Loaded the UVM driver, major device number 239.",
    )
    node.wait(420, 30)
    starts(node, guest_of_l4, 2210)
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, node=box_of_h100)
def exporter_is_restarted_by_a_rollout(node: Story) -> None:
    """The exporter is exchanged for a newer one while a job trains: a gap of two minutes."""
    node.wait(2400, 60)
    restarts(node, 120)
    node.wait(3 * HOUR, 120)


@healthy("tcp_retransmit_burst", node=database_server)
def second_port_is_shut_for_a_change(node: Story) -> None:
    """An operator takes the second port of a server down for twenty minutes and up again."""
    card = "ice 0000:5c:00.1 enp92s0f1"
    place = ("Network", "interfaces", "enp92s0f1")
    node.wait(900, 60)
    node.log(f"{card}: NIC Link is Down")
    node.put(*place, up=False, admin_up=False, operstate="down", carrier_changes=3)
    node.put(*place, speed_bytes_per_second=None)
    node.put("Network", "interfaces", "enp92s0f0", peers_up=0)
    node.wait(1200, 60)
    node.log(
        f"{card}: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC, Negotiated FEC: "
        "RS-FEC, Autoneg Advertised: Off, Autoneg Negotiated: False, Flow Control: None"
    )
    node.put(*place, up=True, admin_up=True, operstate="up", carrier_changes=4)
    node.put(*place, speed_bytes_per_second=12.5e9)
    node.put("Network", "interfaces", "enp92s0f0", peers_up=1)
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, node=box_of_h100)
def cards_are_examined_between_two_jobs(node: Story) -> None:
    """A script takes all cards for three minutes of tests and gives them back to the next job."""
    node.wait(1500, 60)
    aborts(node)
    node.wait(120, 30)
    releases(node, 180)
    node.wait(120, 30)
    starts(node, box_of_h100, 60_410)
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=box_of_h200)
def node_rests_in_a_reservation(node: Story) -> None:
    """A node is reserved for a maintenance of the power lines: it is idle for seven hours."""
    node.wait(900, 60)
    aborts(node)
    node.wait(7 * HOUR, 120)


@healthy(node=web_worker)
def worker_starts_and_gets_its_pods(node: Story) -> None:
    """A worker starts after an upgrade, replays the log of a disk, and gets forty pods."""
    node.put("Host", uptime_secs=29.0)
    node.log(
        *BOOT[1:6],
        *BOOT[7:],
        "XFS (nvme1n1): Mounting V5 Filesystem 0c8e51d0-63bb-4a39-9d9a-1ad3f19dd9f4",
        "XFS (nvme1n1): Starting recovery (logdev: internal)",
        "XFS (nvme1n1): Ending recovery (logdev: internal)",
        "bnxt_en 0000:5c:00.0 ens1f0np0: NIC Link is Up, 25000 Mbps full duplex, "
        "Flow control: none",
        "bond0: (slave ens1f0np0): Enslaving as a backup interface with an up link",
        "overlayfs: idmapped layers are currently not supported",
    )
    node.put("Cpu", usage_percent=81.0, used_cores=77.0, load1=120.0)
    node.wait(240, 15)
    node.put("Cpu", usage_percent=24.0, used_cores=23.0, load1=26.0)
    node.wait(3 * HOUR, 120)


@healthy(node=backup_server)
def firmware_of_one_disk_is_renewed(node: Story) -> None:
    """An operator renews the firmware of one disk of an array, which says that it was reset."""
    node.wait(1200, 60)
    node.log("sd 0:0:3:0: Power-on or device reset occurred")
    node.wait(4 * HOUR, 120)


CASES = (
    box_is_switched_on_after_its_move,
    driver_of_a_drained_node_is_renewed,
    card_is_reset_for_a_change_of_its_mode,
    sweep_of_a_hundred_settings_runs,
    last_board_is_given_to_a_guest,
    desk_sleeps_over_lunch,
    guest_with_an_l4_is_created,
    exporter_is_restarted_by_a_rollout,
    second_port_is_shut_for_a_change,
    cards_are_examined_between_two_jobs,
    node_rests_in_a_reservation,
    worker_starts_and_gets_its_pods,
    firmware_of_one_disk_is_renewed,
)
