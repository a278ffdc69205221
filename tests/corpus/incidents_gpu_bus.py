"""Incidents of the bus, of power and of the driver: GPUs that vanish or never come."""

from tests.corpus.labels import incident
from tests.corpus.machines import processors_only
from tests.corpus.parts import backend
from tests.corpus.story import Story

FELL = "GPU has fallen off the bus."
LOST = "gpu_lost@GPU-3b"
COUNT = "gpu_count_low@node"
AFTER = (
    *("gpu_count_low", "gpu_recovery_required", "gpu_idle_allocated", "gpu_allocated_unused"),
    *("workload_stalled", "nvlink_down", "telemetry_stale", "gpu_memory_orphan", "backend_stuck"),
)


def _aer_above(node: Story) -> None:
    node.log(
        "pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received: 0000:3a:00.0\n"
        "pcieport 0000:3a:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction "
        "Layer, (Requester ID)\n"
        "pcieport 0000:3a:00.0:   device [10b5:8796] error status/mask=00004000/00400000\n"
        "pcieport 0000:3a:00.0:    [14] CmpltTO                (First)"
    )


def _is_lost(node: Story) -> None:
    node.xid("3b", 79, FELL)
    node.lose("3b")


@incident("pcie_aer_uncorrected@0000:3a:00.0", LOST, may=AFTER)
def bus_error_above_and_the_card_is_lost(node: Story) -> None:
    """A fatal AER on the port above, 3 s later Xid 79, then NVML says the GPU is lost."""
    node.wait(60)
    _aer_above(node)
    node.put("Pcie", "devices", "3a", errors_by_severity={"fatal": 1})
    node.wait(3, 3)
    _is_lost(node)
    node.wait(120)


@incident("pcie_link_down@0000:3a:00.0", LOST, may=AFTER)
def slot_link_down_and_the_card_is_lost(node: Story) -> None:
    """The hot-plug driver says that the link of the slot is down, then Xid 79."""
    node.wait(60)
    node.log("pcieport 0000:3a:00.0: pciehp: Slot(3): Link Down")
    node.log("pcieport 0000:3a:00.0: pciehp: Slot(3): Card not present")
    node.wait(2, 2)
    _is_lost(node)
    node.wait(120)


@incident("pcie_containment@0000:3a:00.0", LOST, may=(*AFTER, "pcie_aer_uncorrected"))
def containment_above_and_the_card_is_lost(node: Story) -> None:
    """Downstream port containment cuts the card off, then Xid 79."""
    node.wait(60)
    node.log("pcieport 0000:3a:00.0: DPC: containment event, status:0x1f01 source:0x0000")
    node.wait(4, 4)
    _is_lost(node)
    node.wait(90)


@incident(LOST, may=AFTER)
def card_lost_without_any_reason(node: Story) -> None:
    """Xid 79 with nothing on the bus before it: the card itself is the root."""
    node.wait(60)
    _is_lost(node)
    node.wait(120)


@incident(LOST, may=AFTER)
def card_lost_by_the_short_line_only(node: Story) -> None:
    """No Xid: the driver says in a line of its own that the GPU has fallen off the bus."""
    node.wait(60)
    node.log("NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.")
    node.log("NVRM: GPU 0000:3b:00.0: GPU serial number is 1320000000001.")
    node.lose("3b")
    node.wait(120)


@incident(LOST, may=AFTER)
def card_lost_by_the_long_line_only(node: Story) -> None:
    """No Xid: the three lines about an installed GPU that does not respond."""
    node.wait(60)
    node.log(
        "NVRM: The NVIDIA GPU 0000:3b:00.0\n"
        "NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        "NVRM: fallen off the bus and is not responding to commands."
    )
    node.lose("3b")
    node.wait(120)


@incident(LOST, may=AFTER)
def card_lost_as_only_nvml_says(node: Story) -> None:
    """Not a word in the log: NVML answers GPU_IS_LOST for one card, and goes on to."""
    node.wait(60)
    node.lose("3b")
    node.wait(120)


@incident(f"{LOST}|{COUNT}", may=AFTER)
def card_gone_from_the_list_of_nvml(node: Story) -> None:
    """NVML lists one card less than before without an error, while the bus shows all."""
    node.wait(60)
    node.lose("3b", "not_listed")
    node.wait(240)


@incident(LOST, "gpu_gsp_failure@GPU-3b", may=(*AFTER, "gpu_app_fault"))
def lost_card_and_its_aftermath(node: Story) -> None:
    """Xid 79, then 45 on the job, 119 of its system processor, and 154 with a reboot."""
    node.wait(60)
    _is_lost(node)
    node.wait(5, 5)
    node.xid("3b", 45, "Ch 00000009", pid="4712", name="trainer")
    text = "Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 76"
    node.xid("3b", 119, text, pid="2210", name="nvidia-smi")
    text = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
    node.xid("3b", 154, text)
    node.wait(120)


@incident(
    "pcie_aer_uncorrected@0000:17:01.0|pcie_link_down@0000:17:01.0",
    *(LOST, "gpu_lost@GPU-9b"),
    may=AFTER,
)
def one_root_port_takes_two_cards_along(node: Story) -> None:
    """A fatal error of the root port, and both cards that were looked at below it are lost."""
    node.wait(60)
    node.log("pcieport 0000:17:01.0: AER: Uncorrected (Fatal) error received: 0000:17:01.0")
    node.put("Pcie", "devices", "17:01", errors_by_severity={"fatal": 1})
    node.wait(2, 2)
    for bus in ("3b", "9b"):
        node.xid(bus, 79, FELL)
        node.lose(bus)
    node.wait(120)


@incident(
    "gpu_power_missing@GPU-3b",
    "gpu_init_failed@GPU-3b",
    may=(*AFTER, LOST, "nvml_unavailable"),
)
def power_cable_missing(node: Story) -> None:
    """The driver misses the power cables, so the card cannot be started."""
    node.lose("3b", "insufficient_power")
    node.wait(30)
    text = "GPU does not have the necessary power cables connected."
    node.log(f"NVRM: GPU 0000:3b:00.0: {text}")
    node.log("NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x24:0x1c:1482)")
    node.log("NVRM: GPU 0000:3b:00.0: rm_init_adapter failed, device minor number 1")
    node.wait(120)


@incident("gpu_init_failed@GPU-3b", may=(*AFTER, LOST))
def card_cannot_be_started(node: Story) -> None:
    """RmInitAdapter fails for one card that is there on the bus."""
    node.lose("3b", "unknown_error")
    node.wait(30)
    node.log("NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x26:0x56:1482)")
    node.log("NVRM: GPU 0000:3b:00.0: rm_init_adapter failed, device minor number 1")
    node.wait(120)


@incident("driver_version_mismatch@node", "nvml_unavailable@node", may=AFTER)
def driver_and_library_differ(node: Story) -> None:
    """The library was upgraded without the module: NVML refuses, all GPUs stay unread."""
    node.wait(30)
    node.put("Gpus", backend={**backend(), "backend": "cache", "reason": "version_mismatch"})
    node.put("Gpus", "backend", nvml_up=False)
    for bus in node.bus_addresses:
        node.state(bus, stale=True)
    node.log(
        "NVRM: API mismatch: the client 'nvidia-smi' (pid 2210)\n"
        "NVRM: has the version 595.45.04, but this kernel module has\n"
        "NVRM: the version 570.124.06.  Please make sure that this\n"
        "NVRM: kernel module and all NVIDIA driver\n"
        "NVRM: components have the same version."
    )
    node.wait(240, 30)


@incident("nvml_unavailable@node", may=("gpu_count_low",))
def library_missing_in_the_container(node: Story) -> None:
    """The module is loaded and the cards are on the bus, but there is no library."""
    node.put("Gpus", backend={"backend": "none", "reason": "no_library", "nvml_up": False})
    node.put("Gpus", states=dict.fromkeys(node.bus_addresses))
    node.put("Workloads", clients=None, uses=None)
    node.wait(300, 30)


@incident(
    "pcie_aer_corrected_rate@0000:3b:00.0|pcie_aer_corrected_rate@0000:3a:00.0",
    "gpu_pcie_replay_rate@GPU-3b",
    may=("gpu_pcie_timeout", "pcie_aer_corrected_rate"),
)
def bad_slot_with_many_corrected_errors(node: Story) -> None:
    """Corrected errors by the hundred per minute, and replays rise with them."""
    node.wait(60)
    node.rate(4.0, "Pcie", "devices", "3b", "errors_by_severity", "correctable")
    node.rate(4.0, "Pcie", "devices", "3a", "errors_by_severity", "correctable")
    node.rate(5.0, "Gpus", "states", "3b", "gpu", "pcie_replays_total")
    node.wait(1500, 30)


@incident("gpu_pcie_link_degraded@GPU-3b")
def card_on_half_of_its_lanes(node: Story) -> None:
    """The link came back with 8 lanes of the 16 that card and port can."""
    node.wait(60)
    node.gpu("3b", pcie_link_width=8)
    node.put("Pcie", "devices", "3b", width=8)
    node.wait(180)


@incident("pcie_device_link_degraded@0000:5c:00.0")
def network_card_on_a_slow_link(node: Story) -> None:
    """The network card trained at a quarter of the speed both ends can."""
    node.put("Pcie", "devices", "5c", speed_bytes_per_second=9.85e8)
    node.wait(600, 30)


@incident("pcie_aer_uncorrected@0000:5e:00.0", node=processors_only)
def bus_error_of_a_disk(node: Story) -> None:
    """A non-fatal uncorrected error of an NVMe disk, on a node without GPUs."""
    node.wait(60)
    node.put("Pcie", "devices", "5e", errors_by_severity={"nonfatal": 1})
    node.log(
        "pcieport 0000:5b:00.0: AER: Uncorrected (Non-Fatal) error received: 0000:5e:00.0\n"
        "nvme 0000:5e:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction "
        "Layer, (Requester ID)\n"
        "nvme 0000:5e:00.0:   device [144d:a80a] error status/mask=00004000/00400000\n"
        "nvme 0000:5e:00.0:    [14] CmpltTO                (First)"
    )
    node.wait(120)


@incident(
    "backend_stuck@node",
    may=("telemetry_stale", "nvml_unavailable"),
    never=("gpu_overheat", "gpu_lost", "gpu_count_low"),
)
def library_does_not_answer_for_minutes(node: Story) -> None:
    """Every pass runs out of time and values expire: nothing is concluded from what is old."""
    node.wait(60)
    for bus in node.bus_addresses:
        node.state(bus, stale=True)
    node.put("Gpus", "backend", backend="cache", reason="timeout", nvml_up=False)
    node.gpus(temperature_celsius=99.0, thermal_margin_celsius=-3.0)
    node.wait(120)
    for bus in node.bus_addresses:
        node.state(bus, expired=True, up=False)
    node.put("Gpus", "backend", backend="none")
    node.wait(240)


CASES = (
    library_does_not_answer_for_minutes,
    bus_error_above_and_the_card_is_lost,
    slot_link_down_and_the_card_is_lost,
    containment_above_and_the_card_is_lost,
    card_lost_without_any_reason,
    card_lost_by_the_short_line_only,
    card_lost_by_the_long_line_only,
    card_lost_as_only_nvml_says,
    card_gone_from_the_list_of_nvml,
    lost_card_and_its_aftermath,
    one_root_port_takes_two_cards_along,
    power_cable_missing,
    card_cannot_be_started,
    driver_and_library_differ,
    library_missing_in_the_container,
    bad_slot_with_many_corrected_errors,
    card_on_half_of_its_lanes,
    network_card_on_a_slow_link,
    bus_error_of_a_disk,
)
