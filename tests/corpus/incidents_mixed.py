"""Incidents in which several parts of the node are involved, or told of in other words."""

from tests.corpus.labels import incident
from tests.corpus.machines import processors_only
from tests.corpus.parts import limits, sensor
from tests.corpus.story import Story

FELL = "GPU has fallen off the bus."
ALL = ("1b", "3b", "9b", "bb")
RANKS = (4711, 4712, 4713, 4714)


@incident("pcie_aer_uncorrected@0000:3b:00.0", "gpu_lost@GPU-3b", may=("gpu_count_low",))
def bus_error_of_the_card_in_newer_words(node: Story) -> None:
    """A newer kernel: the card itself sent a fatal error of the data link layer, then Xid 79."""
    node.wait(30)
    node.log(
        "pcieport 0000:3a:00.0: AER: Uncorrectable (Fatal) error message received from "
        "0000:3b:00.0\n"
        "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link "
        "Layer, (Receiver ID)\n"
        "nvidia 0000:3b:00.0:   device [10de:2330] error status/mask=00000010/00400000\n"
        "nvidia 0000:3b:00.0:    [ 4] DLP                    (First)"
    )
    node.wait(10, 5)
    node.xid("3b", 79, FELL)
    node.lose("3b")
    node.wait(60)


@incident("pcie_aer_uncorrected@0000:3a:00.0", "gpu_lost@GPU-3b", may=("gpu_count_low",))
def bus_error_and_loss_without_a_log(node: Story) -> None:
    """No kernel log: the error counter of the port rises, then NVML loses the card."""
    node.put(KernelLog=None)
    node.wait(60)
    node.put("Pcie", "devices", "3a", errors_by_severity={"fatal": 1})
    node.wait(15)
    node.lose("3b")
    node.wait(60)


@incident(
    "pcie_aer_uncorrected@0000:3b:00.0",
    "gpu_lost@GPU-3b",
    may=("firmware_hardware_error", "gpu_count_low"),
)
def firmware_tells_of_the_bus_error(node: Story) -> None:
    """Firmware handles errors first: a record of it names the card, then Xid 79."""
    node.wait(30)
    node.log(
        "{3}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4\n"
        "{3}[Hardware Error]: event severity: fatal\n"
        "{3}[Hardware Error]:  Error 0, type: fatal\n"
        "{3}[Hardware Error]:   section_type: PCIe error\n"
        "{3}[Hardware Error]:   port_type: 0, PCIe end point\n"
        "{3}[Hardware Error]:   device_id: 0000:3b:00.0"
    )
    node.wait(10, 5)
    node.xid("3b", 79, FELL)
    node.lose("3b")
    node.wait(60)


@incident(
    *("gpu_ecc_uncorrected@GPU-3b", "gpu_memory_uncontained@GPU-3b"),
    *("gpu_recovery_required@GPU-3b", "gpu_reset_required@GPU-3b"),
    may=("gpu_count_low", "gpu_app_fault"),
)
def memory_error_until_the_card_refuses_work(node: Story) -> None:
    """48 with 171, 95, 154, and at last NVML wants a reset before anything else."""
    node.wait(30)
    node.xid("3b", 48, "An uncorrectable double bit error (DBE) has been detected on GPU.")
    node.xid("3b", 171, "DRAM uncorrectable error")
    node.xid("3b", 95, "Uncontained: LTC DATA (0x1, 0x3). RST: Yes, D-RST: No")
    text = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    node.xid("3b", 154, text)
    node.gpu("3b", recovery_action="reset")
    node.wait(15)
    node.lose("3b", "reset_required")
    node.wait(60)


@incident(
    "gpu_gsp_failure@GPU-3b",
    "gpu_channel_timeout@GPU-3b",
    may=("gpu_recovery_required", "gpu_app_fault"),
)
def system_processor_silent_and_work_times_out(node: Story) -> None:
    """Xid 119, five seconds later 109: the second follows from the first."""
    node.wait(30)
    node.xid("3b", 119, "Timeout after 6s of waiting for RPC response from GPU1 GSP!")
    node.wait(5, 5)
    node.xid("3b", 109, "Ch 00000010, errorString CTX SWITCH TIMEOUT", pid="4712", name="t")
    node.wait(60)


@incident(
    "gpu_lost@GPU-3b",
    "nvlink_down@GPU-9b",
    may=("gpu_count_low", "nvlink_down", "gpu_nvlink_fatal", "nvlink_fatal"),
)
def lost_card_takes_links_of_its_peer_down(node: Story) -> None:
    """A card is lost, and ten seconds later a link of another one is down."""
    node.wait(30)
    node.xid("3b", 79, FELL)
    node.lose("3b")
    node.wait(10, 5)
    node.gpu("9b", nvlink_up={"2": 0})
    node.wait(60)


@incident(
    *(f"gpu_overheat@GPU-{bus}" for bus in ALL),
    *(f"gpu_thermal_throttle@GPU-{bus}" for bus in ALL),
    root="node_inlet_hot@*",
    may=("gpu_thermal_slowdown",),
)
def hot_room_heats_all_cards(node: Story) -> None:
    """The inlet is above its limit; minutes later all cards are."""
    node.wait(30)
    node.put("Sensors", "sensors", "inlet", value=46.0)
    node.wait(400, 30)
    node.gpus(temperature_celsius=88.0, thermal_margin_celsius=0.0)
    node.gpus(throttle_active=limits("hw_thermal_slowdown", "hw_slowdown"))
    node.wait(200, 20)


@incident(
    *("nfs_server_stalled@192.0.2.10", "hung_task@4711"),
    *(f"gpu_idle_allocated@GPU-{bus}" for bus in ALL),
    root="nfs_server_stalled@192.0.2.10",
    may=("io_stall", "process_waits_for_storage", "filesystem_stuck"),
)
def file_server_silent_and_a_rank_hangs(node: Story) -> None:
    """The server timed out, all ranks sleep in the kernel, one of them is reported as hung."""
    node.wait(30)
    node.log("nfs: server 192.0.2.10 not responding, timed out")
    for pid in RANKS:
        node.process(pid, state="uninterruptible", waits_since_boottime=node.at)
    node.put("Filesystems", "filesystems", "/home", unreachable=True, size_bytes=None)
    node.idle_since_now()
    node.pressure("io", "full", 70.0)
    node.wait(150, 30)
    node.log("INFO: task trainer:4711 blocked for more than 122 seconds.")
    node.wait(600, 60)


@incident(
    *("net_link_down@eth0", "nfs_server_stalled@192.0.2.10"),
    may=("io_stall", "filesystem_stuck"),
)
def link_goes_and_the_file_server_with_it(node: Story) -> None:
    """The network card loses its link; a minute later the file server does not respond."""
    node.wait(30)
    node.log("mlx5_core 0000:5c:00.0 eth0: Link down")
    node.put("Network", "interfaces", "eth0", up=False, operstate="down", carrier_changes=3)
    node.wait(60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.wait(120)


@incident(
    *("pcie_aer_uncorrected@0000:5f:00.0", "nvme_timeout@nvme1n1", "disk_io_errors@nvme1n1"),
    node=processors_only,
)
def bus_error_of_a_disk_up_to_its_errors(node: Story) -> None:
    """A fatal error on the bus, a time-out of the disk, then requests fail."""
    node.wait(30)
    node.log("pcieport 0000:5b:00.0: AER: Uncorrected (Fatal) error received: 0000:5f:00.0")
    node.wait(5, 5)
    node.log("nvme nvme1: I/O 192 QID 1 timeout, reset controller")
    node.wait(10, 5)
    node.log("I/O error, dev nvme1n1, sector 7 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0")
    node.wait(60)


@incident(
    "nic_cable_unplugged@*",
    "ib_port_down@mlx5_0/1",
    may=("gpu_busy_without_work", "net_link_down"),
)
def cable_of_a_fabric_port_is_pulled(node: Story) -> None:
    """The adapter tells of an unplugged cable; its port has no interface of its own."""
    node.wait(30)
    node.log("mlx5_core 0000:ca:00.0: Port module event: module 0, Cable unplugged")
    node.wait(5, 5)
    node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="polling")
    node.wait(120)


@incident(
    *("ib_port_down@mlx5_1/1", "ib_link_errors@mlx5_1/1", "gpu_busy_without_work@GPU-3b"),
    may=("gpu_busy_without_work",),
)
def port_counts_its_own_loss(node: Story) -> None:
    """A port goes down and counts it: the count is no cause. The cards spin for a quarter hour."""
    node.wait(30)
    node.put("Infiniband", "ports", "mlx5_1", state="down", phys_state="disabled")
    node.put("Infiniband", "ports", "mlx5_1", "errors", link_downed=1)
    node.gpus(utilization_percent=100.0, power_draw_watts=130.0)
    node.gpus(memory_controller_utilization_percent=0.0)
    node.wait(900, 60)


@incident(
    *("pod_oom_kill@*|process_oom_kill@4712", "gpu_idle_allocated@GPU-3b"),
    may=("process_oom_kill", "gpu_allocated_unused"),
)
def rank_killed_and_its_card_idles_on(node: Story) -> None:
    """Only the kill line is printed; the pod keeps the card, which idles for a quarter hour."""
    node.wait(30)
    node.log(
        "Memory cgroup out of memory: Killed process 4712 (trainer) total-vm:81920000kB, "
        "anon-rss:62914560kB, file-rss:10240kB, shmem-rss:0kB, UID:0 pgtables:123456kB "
        "oom_score_adj:985"
    )
    node.put("Workloads", "clients", **{"4712": None})
    node.gpu("3b", processes=[])
    node.idle_since_now("3b")
    node.put("Workloads", "uses", "3b", processes=0)
    node.wait(1100, 60)


@incident("nvswitch_hot@0000:86:00.0", is_over=True)
def switch_is_hot_for_a_while(node: Story) -> None:
    """The switch slows down for heat and says later that it is cool again."""
    node.wait(30)
    switch = "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): "
    node.log(f"{switch}10004, Thermal Slowdown Engaged | Temp higher than WARN Threshold")
    node.wait(60)
    node.log(f"{switch}10005, Thermal Slowdown Disengaged")
    node.wait(120)


@incident(
    *("pcie_aer_uncorrected@0000:9a:00.0", "gpu_lost@GPU-3b"),
    root=("pcie_aer_uncorrected@0000:9a:00.0", "gpu_lost@GPU-3b"),
    may=("gpu_count_low",),
)
def bus_error_above_another_card(node: Story) -> None:
    """An error of the port above one card, and another card is lost: they have no relation."""
    node.wait(30)
    node.log("pcieport 0000:9a:00.0: AER: Uncorrected (Non-Fatal) error received: 0000:9a:00.0")
    node.wait(5, 5)
    node.xid("3b", 79, FELL)
    node.lose("3b")
    node.wait(60)


@incident(
    *("disk_io_errors@nvme1n1", "gpu_idle_allocated@GPU-3b"),
    root=("disk_io_errors@nvme1n1", "gpu_idle_allocated@GPU-3b"),
)
def disk_errors_while_a_job_merely_sleeps(node: Story) -> None:
    """A disk returns an error, and a job that sleeps in the ordinary way leaves its card idle."""
    node.wait(30)
    node.log("I/O error, dev nvme1n1, sector 7 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0")
    node.process(4712, state="sleeping")
    node.idle_since_now("3b")
    node.wait(700, 60)


@incident("power_supply_alarm@*", *(f"gpu_power_brake@GPU-{bus}" for bus in ALL))
def power_supply_fails_and_cards_brake(node: Story) -> None:
    """A supply raises its alarm, and all cards are held down from outside."""
    node.wait(30)
    node.put("Sensors", "sensors", "psu", **sensor("power", "PSU1", 0.0, alarm=True))
    node.wait(90)
    node.gpus(throttle_active=limits("hw_power_brake_slowdown", "hw_slowdown"))
    node.wait(120)


@incident(
    *("nic_driver_fatal@*", "ib_port_down@mlx5_0/1"),
)
def firmware_of_a_fabric_adapter_fails(node: Story) -> None:
    """The adapter's firmware gives up, and its port goes down with it."""
    node.wait(30)
    text = "print_health_info:500:(pid 0): synd 0x8: unrecoverable hardware error"
    node.log(f"mlx5_core 0000:ca:00.0: {text}")
    node.wait(5, 5)
    node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="disabled")
    node.wait(60)


CASES = (
    switch_is_hot_for_a_while,
    bus_error_above_another_card,
    disk_errors_while_a_job_merely_sleeps,
    power_supply_fails_and_cards_brake,
    firmware_of_a_fabric_adapter_fails,
    bus_error_of_the_card_in_newer_words,
    bus_error_and_loss_without_a_log,
    firmware_tells_of_the_bus_error,
    memory_error_until_the_card_refuses_work,
    system_processor_silent_and_work_times_out,
    lost_card_takes_links_of_its_peer_down,
    hot_room_heats_all_cards,
    file_server_silent_and_a_rank_hangs,
    link_goes_and_the_file_server_with_it,
    bus_error_of_a_disk_up_to_its_errors,
    cable_of_a_fabric_port_is_pulled,
    port_counts_its_own_loss,
    rank_killed_and_its_card_idles_on,
)
