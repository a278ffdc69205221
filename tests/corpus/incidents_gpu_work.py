"""Incidents of GPU links, heat, power and firmware, and of the jobs on them."""

from tests.corpus.labels import incident
from tests.corpus.machines import blackwell, workstation
from tests.corpus.parts import limits
from tests.corpus.story import Story

JOB = ("gpu_app_fault", "gpu_idle_allocated", "workload_stalled", "gpu_recovery_required")
LINK_DOWN = "0x00400011 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000"
SLOW = ("gpu_straggler", "gpu_clock_low", "gpu_thermal_slowdown")


@incident(
    "nvlink_fatal@0000:3b:00.0/7|nvlink_fatal@GPU-3b",
    may=(*JOB, "nvlink_down", "gpu_xid_warning", "nvlink_fatal"),
    node=blackwell,
)
def link_down_and_jobs_of_the_peer_end(node: Story) -> None:
    """149 on one card; its peer tells of a source track (145), whose jobs end by 45."""
    node.wait(60)
    node.xid("3b", 149, f"NETIR_LINK_DOWN  Fatal   XC0 i0 Link 07 ({LINK_DOWN})")
    node.wait(2, 2)
    words = "0x00000007 0x00000004 0x00000000 0x00000000 0x00000000 0x00000000"
    text = f"RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 ({words})"
    node.xid("9b", 145, text, pid="4713", name="trainer")
    text = "Ch 00000009 caused by previous Xid 145"
    node.xid("9b", 45, text, pid="4713", name="trainer")
    node.wait(120)


@incident(
    "nvlink_fatal@0000:3b:00.0/6|nvlink_fatal@GPU-3b",
    may=(*JOB, "nvlink_down", "nvlink_errors"),
)
def fatal_error_of_a_hopper_link(node: Story) -> None:
    """Xid 74 with a hardware bit, and the link goes down."""
    node.wait(60)
    text = "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
    node.xid("3b", 74, text, pid="'<unknown>'", name="<unknown>")
    node.wait(5, 5)
    node.gpu("3b", nvlink_up={"6": 0})
    node.wait(120)


@incident("nvlink_down@0000:3b:00.0/6|nvlink_down@GPU-3b", may=(*JOB, "nvlink_errors"))
def link_down_without_an_xid(node: Story) -> None:
    """NVML says that one link is inactive while its siblings are active."""
    node.wait(60)
    node.gpu("3b", nvlink_up={"6": 0})
    node.wait(120)


@incident("nvlink_errors@GPU-3b", may=("nvlink_errors",))
def link_with_many_checksum_errors(node: Story) -> None:
    """A thousand checksum errors each second for five minutes."""
    node.wait(60)
    node.rate(1000.0, "Gpus", "states", "3b", "gpu", "nvlink_errors_total", "crc_flit")
    node.wait(300)


@incident(
    "nvswitch_fatal@0000:86:00.0",
    may=(*JOB, "nvlink_fatal", "nvlink_down", "fabric_not_ready"),
)
def switch_fails_and_a_card_notices(node: Story) -> None:
    """A fatal SXid of the switch, then Xid 74 on the card at that port."""
    node.wait(60)
    text = "12022, Fatal, Link 21 egress input ECC DBE error (First)"
    node.log(f"nvidia-nvswitch1: SXid (PCI:0000:86:00.0): {text}")
    node.log("nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 12022, Severity 1 Engine instance 21")
    node.wait(3, 3)
    text = "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
    node.xid("3b", 74, text)
    node.wait(120)


@incident("fabric_not_ready@GPU-3b", may=("fabric_not_ready",))
def card_not_in_the_fabric(node: Story) -> None:
    """The fabric manager does not bring one card in: it stays in progress for minutes."""
    node.gpu("3b", fabric_state="in_progress", fabric_healthy=None)
    node.wait(300, 30)


@incident(
    "gpu_gsp_failure@GPU-3b",
    "hung_task@2210",
    may=(*JOB, "backend_stuck", "telemetry_stale", "gpu_lost", "io_stall"),
)
def system_processor_silent_and_nvidia_smi_hangs(node: Story) -> None:
    """Xid 119 again and again, nvidia-smi in uninterruptible sleep, a hung task of it."""
    node.wait(60)
    for sequence in (811, 812, 813):
        text = "Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 76 "
        text += f"(GSP_RM_CONTROL) sequence {sequence} (0x20801702 0x4)."
        node.xid("3b", 119, text, pid="2210", name="nvidia-smi")
        node.wait(45)
    node.log("INFO: task nvidia-smi:2210 blocked for more than 122 seconds.")
    node.wait(60)


@incident(
    *("gpu_gsp_failure@GPU-3b", "backend_stuck@node"),
    may=(*JOB, "telemetry_stale", "nvml_unavailable", "source_stuck"),
)
def system_processor_silent_and_nvml_hangs(node: Story) -> None:
    """Xid 119, after which the library does not come back and values are from the cache."""
    node.wait(60)
    text = "Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 76"
    node.xid("3b", 119, text, pid="2210", name="trainer")
    node.wait(15)
    for bus in node.bus_addresses:
        node.state(bus, stale=True)
    node.put("Gpus", "backend", backend="cache", reason="stuck", nvml_up=False)
    node.report("gpu", outcome="stuck", reason="no answer in 5 s")
    node.wait(120)


@incident("gpu_xid_critical@GPU-3b", may=JOB)
def firmware_halts_and_the_job_ends(node: Story) -> None:
    """Xid 62 and then 45: the fault is named after 62, not after its consequence."""
    node.wait(60)
    node.xid("3b", 62, "2c5e(2e1c) 00000000 00000000", pid="4712", name="trainer")
    node.wait(1, 1)
    node.xid("3b", 45, "Ch 00000009", pid="4712", name="trainer")
    node.wait(120)


@incident(
    "gpu_fan_stopped@GPU-3b",
    "gpu_overheat@GPU-3b",
    "gpu_thermal_throttle@GPU-3b",
    may=SLOW,
    node=workstation,
)
def fan_of_a_card_stops_and_it_gets_hot(node: Story) -> None:
    """A fan of the card stands still, the margin is used up, the hardware slows it down."""
    node.wait(60)
    node.gpu("3b", fan_speed_percent={"0": 0, "1": 0})
    node.gpu("3b", temperature_celsius=78.0, thermal_margin_celsius=9.0)
    node.wait(90)
    node.gpu("3b", temperature_celsius=88.0, thermal_margin_celsius=0.0)
    node.gpu("3b", throttle_active=limits("hw_thermal_slowdown", "hw_slowdown"))
    node.wait(240)


@incident("gpu_overheat@GPU-3b", "gpu_thermal_throttle@GPU-3b", may=SLOW)
def one_card_hot_without_a_failed_fan(node: Story) -> None:
    """One board of four is at its limit and slowed down: its own cooler."""
    node.wait(60)
    node.gpu("3b", temperature_celsius=88.0, thermal_margin_celsius=0.0)
    node.gpu("3b", throttle_active=limits("sw_thermal_slowdown", "hw_thermal_slowdown"))
    node.gpu("3b", clock_hertz={"sm": 1.1e9, "graphics": 1.1e9})
    node.wait(420, 30)


@incident(
    "fan_stopped@*FAN2",
    *(f"gpu_overheat@GPU-{bus}" for bus in ("1b", "3b", "9b", "bb")),
    *(f"gpu_thermal_throttle@GPU-{bus}" for bus in ("1b", "3b", "9b", "bb")),
    may=(*SLOW, "node_inlet_hot"),
)
def chassis_fan_fails_and_all_cards_get_hot(node: Story) -> None:
    """A fan of the chassis stands still; minutes later all cards are too hot."""
    node.wait(60)
    node.put("Sensors", "sensors", "fan2", value=0.0, alarm=True)
    node.wait(180, 30)
    node.gpus(temperature_celsius=88.0, thermal_margin_celsius=1.0)
    node.gpus(throttle_active=limits("hw_thermal_slowdown", "hw_slowdown"))
    node.wait(240, 30)


@incident("gpu_memory_overheat@GPU-3b", may=("gpu_thermal_throttle",))
def memory_of_a_card_too_hot(node: Story) -> None:
    """The memory is at its limit while the chip is cool."""
    node.wait(30)
    node.gpu("3b", memory_temperature_celsius=95.0)
    node.wait(180)


@incident(
    *(f"gpu_power_brake@GPU-{bus}" for bus in ("1b", "3b", "9b", "bb")),
    root=tuple(f"gpu_power_brake@GPU-{bus}" for bus in ("1b", "3b", "9b", "bb")),
    may=(*SLOW, "gpu_power_capped", "psu_fault"),
    never=("gpu_thermal_throttle",),
)
def power_brake_on_all_cards(node: Story) -> None:
    """Something outside cuts the power of all cards at once: supply or rack."""
    node.wait(60)
    node.gpus(
        throttle_active=limits("hw_power_brake_slowdown", "hw_slowdown"), power_draw_watts=300.0
    )
    node.gpus(clock_hertz={"sm": 9e8, "graphics": 9e8})
    node.wait(180)


@incident("gpu_clock_low@GPU-3b", may=("gpu_straggler",))
def one_card_slow_without_a_reason(node: Story) -> None:
    """One card runs at half the clock of its busy siblings, and no limit is named."""
    node.wait(60)
    node.gpu("3b", clock_hertz={"sm": 8.1e8, "graphics": 8.1e8})
    node.wait(600, 30)


@incident("gpu_channel_timeout@GPU-3b", may=(*JOB, "gpu_gsp_failure"))
def work_times_out_twice(node: Story) -> None:
    """Xid 109 twice in an hour."""
    node.wait(60)
    for _ in range(2):
        text = "Ch 00000010, errorString CTX SWITCH TIMEOUT, Info 0x3c046"
        node.xid("3b", 109, text, pid="4712", name="trainer")
        node.wait(300, 60)


@incident("gpu_inforom_problem@GPU-3b")
def flash_of_the_board_is_corrupt(node: Story) -> None:
    """Xid 93: the board's own flash cannot be written."""
    node.wait(30)
    node.xid("3b", 93, "Failed to write to InfoROM")
    node.wait(60)


@incident("gpu_app_fault@*|gpu_app_fault@4712", may=JOB, never=("gpu_xid_critical", "gpu_lost"))
def application_reads_where_nothing_is(node: Story) -> None:
    """Xid 31 and 43 of one process: a bug of the job, the GPU is well."""
    node.wait(60)
    text = "Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ "
    text += "0x7e21_4c000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
    node.xid("3b", 31, text, pid="4712", name="trainer")
    node.xid("3b", 43, "Ch 00000010", pid="4712", name="trainer")
    node.wait(60)


@incident("gpu_clock_low@GPU-3b", root="gpu_power_limit_low@GPU-3b", may=("gpu_power_capped",))
def one_card_slow_because_it_may_not_draw_more(node: Story) -> None:
    """Somebody left one card at 300 of 700 W: it holds up the job, and is not broken."""
    wanted = {"min": 200, "max": 700, "default": 700, "requested": 300}
    node.gpu("3b", power_limit_watts=300.0, power_limit_range_watts=wanted)
    node.gpu("3b", power_draw_watts=299.0, clock_hertz={"sm": 9.6e8, "graphics": 9.6e8})
    node.gpu("3b", throttle_active=limits("sw_power_cap"))
    node.wait(1200, 60)


@incident("gpu_suspect_hardware@GPU-3b", may=JOB, never=("gpu_xid_critical", "gpu_lost"))
def one_unit_of_a_card_fails_whoever_uses_it(node: Story) -> None:
    """Xid 13 at the same place of one card, hours apart, of four different processes."""
    text = "Graphics SM Warp Exception on (GPC 4, TPC 6, SM 1): Illegal Instruction Encoding"
    node.wait(60)
    for pid in (4712, 5210, 6011, 7300):
        node.xid("3b", 13, text, pid=str(pid), name="trainer")
        node.xid("3b", 43, "Ch 00000010", pid=str(pid), name="trainer")
        node.wait(5400, 900)


CASES = (
    link_down_and_jobs_of_the_peer_end,
    fatal_error_of_a_hopper_link,
    link_down_without_an_xid,
    link_with_many_checksum_errors,
    switch_fails_and_a_card_notices,
    card_not_in_the_fabric,
    system_processor_silent_and_nvidia_smi_hangs,
    system_processor_silent_and_nvml_hangs,
    firmware_halts_and_the_job_ends,
    fan_of_a_card_stops_and_it_gets_hot,
    one_card_hot_without_a_failed_fan,
    chassis_fan_fails_and_all_cards_get_hot,
    memory_of_a_card_too_hot,
    power_brake_on_all_cards,
    one_card_slow_without_a_reason,
    one_card_slow_because_it_may_not_draw_more,
    work_times_out_twice,
    flash_of_the_board_is_corrupt,
    application_reads_where_nothing_is,
    one_unit_of_a_card_fails_whoever_uses_it,
)
