"""Classes of what was once judged wrong: starts of fabric and driver, short heat, replays."""

from tests.corpus.eighth.nodes import cloud_volumes
from tests.corpus.labels import healthy, incident
from tests.corpus.machines import processors_only, trainer, workstation
from tests.corpus.parts import Tree, nic
from tests.corpus.story import Story
from tests.corpus.words import DOUBLE_BIT, GPU_AFTER, driver_loads_again

ALL = ("1b", "3b", "9b", "bb")
IDLE = ("gpu_idle_allocated", "gpu_allocated_unused", "gpu_busy_without_work")
UNREADY = tuple(f"fabric_not_ready@GPU-{bus}" for bus in ALL)
UNDRIVEN = "gpu_count_low@node|nvml_unavailable@node|gpu_probe_failed@node"
ENA = "ena 0000:00:06.0"


def _two_adapters() -> Tree:
    node = cloud_volumes()
    second = nic("ens6", driver="ena", mtu=9001, pci_bus_id="0000:00:06.0")
    node["Network"]["interfaces"]["ens6"] = second
    return node


def _waits_for_fabric(node: Story, secs: int) -> None:
    node.gpus(fabric_state="in_progress", fabric_healthy=None)
    node.wait(secs)


def _without_driver(node: Story) -> None:
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver", "nvml_up": None})
    node.put("Gpus", states=dict.fromkeys(node.bus_addresses))
    node.put("Workloads", clients=None, uses=None, totals=[])


@healthy(*IDLE)
def fabric_is_there_six_minutes_after_a_boot(node: Story) -> None:
    """A fabric manager that programs many switches after a boot."""
    node.put("Host", uptime_secs=35.0)
    node.job_ends()
    _waits_for_fabric(node, 330)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(900, 60)


@healthy(*IDLE)
def fabric_is_there_four_minutes_after_the_driver(node: Story) -> None:
    """A node that has been up for days loads its driver anew: the fabric is set up again."""
    node.wait(60)
    node.job_ends()
    node.wait(60)
    driver_loads_again(node)
    node.job_ends()
    _waits_for_fabric(node, 240)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(900, 60)


@incident(*UNREADY, root=("fabric_not_ready@*",), may=IDLE, unfit=True, lasts=UNREADY)
def fabric_is_never_there_after_a_boot(node: Story) -> None:
    """Half an hour after a boot all cards still wait for the fabric manager."""
    node.put("Host", uptime_secs=80.0)
    node.job_ends()
    _waits_for_fabric(node, 1800)


@incident(
    *UNREADY, root=("fabric_not_ready@*",), may=(*IDLE, *GPU_AFTER), unfit=True, lasts=UNREADY
)
def fabric_is_never_there_after_the_driver(node: Story) -> None:
    """The driver is loaded anew on a node that has been up for days, its fabric manager is not."""
    node.wait(60)
    node.job_ends()
    driver_loads_again(node)
    node.job_ends()
    _waits_for_fabric(node, 1500)


@healthy(node=processors_only)
def package_is_warm_for_a_moment_on_all_its_threads(node: Story) -> None:
    """Each CPU of a package reports its one event, and four seconds later that it is over."""
    node.wait(60)
    node.log(
        *(
            f"mce: CPU{cpu}: Package temperature is above threshold, cpu clock is throttled "
            "(total events = 1)"
            for cpu in range(0, 32, 2)
        )
    )
    node.put("CpuHealth", thermal_throttles={"package": 4})
    node.wait(4, 4)
    node.log(*(f"mce: CPU{cpu}: Package temperature/speed normal" for cpu in range(0, 32, 2)))
    node.wait(1800, 60)


@healthy(node=cloud_volumes)
def package_is_warm_where_nothing_counts_it(node: Story) -> None:
    """A guest without counters: two CPUs of a package report the same event, over at once."""
    node.wait(60)
    node.log(
        *(
            f"CPU{cpu}: Package temperature above threshold, cpu clock throttled "
            "(total events = 17)"
            for cpu in (1, 9)
        )
    )
    node.wait(2, 2)
    node.log(*(f"CPU{cpu}: Package temperature/speed normal" for cpu in (1, 9)))
    node.wait(1800, 60)


@incident(
    "cpu_thermal_throttle@node",
    unfit=False,
    gone=("cpu_thermal_throttle",),
    fit_at_end=True,
    node=cloud_volumes,
)
def package_stays_hot_where_nothing_counts_it(node: Story) -> None:
    """A package is throttled for ten minutes; the kernel repeats it every five."""
    node.wait(60)
    for total in (220, 4100):
        node.log(
            "mce: CPU5: Package temperature is above threshold, cpu clock is throttled "
            f"(total events = {total})"
        )
        node.wait(300, 30)
    node.log("mce: CPU5: Package temperature/speed normal")
    node.wait(1800, 60)


@incident("nvlink_errors@GPU-9b", unfit=False, gone=("nvlink_errors",), fit_at_end=True)
def link_repeats_packets_for_minutes(node: Story) -> None:
    """Two hundred replays a second on one card, damaged at the other end of its links."""
    node.wait(60)
    node.rate(210.0, "Gpus", "states", "9b", "gpu", "nvlink_errors_total", "replay")
    node.wait(600, 30)
    node.rate(0.0, "Gpus", "states", "9b", "gpu", "nvlink_errors_total", "replay")
    node.wait(1800, 60)


@incident("nvlink_errors@GPU-1b", unfit=False, lasts=("nvlink_errors@GPU-1b",))
def payload_of_a_link_is_damaged(node: Story) -> None:
    """A hundred and fifty CRC errors of data a second on one card."""
    node.wait(60)
    node.rate(150.0, "Gpus", "states", "1b", "gpu", "nvlink_errors_total", "crc_data")
    node.wait(600, 30)


@healthy()
def links_repeat_a_packet_now_and_then(node: Story) -> None:
    """Some replays and CRC errors of data a minute: links are made to live with them."""
    node.rate(0.4, "Gpus", "states", "3b", "gpu", "nvlink_errors_total", "replay")
    node.rate(0.2, "Gpus", "states", "3b", "gpu", "nvlink_errors_total", "crc_data")
    node.wait(3600, 60)


@incident(UNDRIVEN, may=("telemetry_stale",), lasts=(UNDRIVEN,))
def driver_is_removed_and_not_installed_again(node: Story) -> None:
    """A running node loses its driver in an upgrade of packages; its cards are on the bus."""
    node.wait(300, 60)
    node.job_ends()
    node.log("nvidia-uvm: Unloaded the UVM driver.")
    _without_driver(node)
    node.wait(2 * 3600, 60)


@incident(UNDRIVEN, lasts=(UNDRIVEN,), node=workstation)
def card_has_no_driver_since_the_boot(node: Story) -> None:
    """The module does not fit the kernel: it is not loaded, and nothing else drives the card."""
    node.put("Host", uptime_secs=33.0)
    node.log(
        "nvidia: version magic '6.8.0-60-generic SMP preempt mod_unload modversions ' should be "
        "'6.8.0-71-generic SMP preempt mod_unload modversions '"
    )
    _without_driver(node)
    node.wait(3600, 60)


@healthy(never=("gpu_count_low", "gpu_probe_failed"))
def operator_installs_the_driver_for_ten_minutes(node: Story) -> None:
    """After a boot a container builds the driver; the cards are read ten minutes later."""
    node.put("Host", uptime_secs=70.0)
    _without_driver(node)
    node.wait(600)
    node.put(Gpus=trainer()["Gpus"])
    node.idle_clocks()
    node.gpus(memory_used_bytes=0, processes=[])
    node.wait(900, 60)


@healthy(node=workstation)
def display_is_driven_by_nouveau(node: Story) -> None:
    """A card that drives a screen by nouveau, where nobody computes."""
    node.put("Host", uptime_secs=5000.0)
    _without_driver(node)
    node.put("Pcie", "devices", "3b", driver="nouveau")
    node.wait(3600, 60)


@healthy(node=workstation)
def screen_of_a_processor_has_no_driver(node: Story) -> None:
    """A server whose processor has graphics of Intel that no driver is loaded for."""
    node.put("Host", uptime_secs=5000.0)
    _without_driver(node)
    node.put("Pcie", "devices", "3b", vendor="0x8086")
    node.wait(3600, 60)


@incident(
    "net_tx_timeout@ens6",
    may=("tcp_retransmit_burst",),
    unfit=False,
    fit_at_end=True,
    node=_two_adapters,
)
def driver_resets_a_virtual_adapter_four_times(node: Story) -> None:
    """Each time its device is back two seconds later, and says so."""
    node.wait(60)
    for queue in range(4):
        node.log(f"{ENA} ens6: NETDEV WATCHDOG: CPU: 2: transmit queue {queue} timed out 5204 ms")
        node.wait(2, 2)
        node.log(f"{ENA}: Device reset completed successfully")
        node.wait(700, 60)


@incident(
    "net_tx_timeout@ens6",
    root="net_tx_timeout@ens6|nic_driver_fatal@ens6",
    may=("nic_driver_fatal",),
    unfit=True,
    node=_two_adapters,
)
def resets_of_a_virtual_adapter_fail(node: Story) -> None:
    """The device is not back after a reset, and its queues time out again and again."""
    node.wait(60)
    for queue in range(4):
        node.log(f"{ENA} ens6: NETDEV WATCHDOG: CPU: 2: transmit queue {queue} timed out 5204 ms")
        node.log(f"{ENA}: Reset attempt failed. Can not reset the device")
        node.wait(120, 30)


@incident(
    *("gpu_memory_uncontained@GPU-bb", "gpu_ecc_uncorrected@GPU-bb"),
    root=("gpu_memory_uncontained@GPU-bb",),
    may=GPU_AFTER,
    unfit=True,
)
def uncontained_error_is_counted_a_minute_later(node: Story) -> None:
    """Xid 95 without a 48; the counter of NVML shows the same error at the next look."""
    node.wait(60)
    node.xid("bb", 95, "Uncontained: FBHUB. RST: Yes, D-RST: No", pid="4714", name="trainer")
    node.wait(45)
    node.gpu("bb", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.wait(600, 60)


@incident(
    *("gpu_ecc_uncorrected@GPU-bb", "gpu_memory_uncontained@GPU-bb"),
    may=(*GPU_AFTER, "gpu_row_remap_pending"),
    unfit=True,
)
def double_bit_error_is_consumed_minutes_later(node: Story) -> None:
    """Xid 48 first; the damaged data is used ten minutes later, which nothing contains."""
    node.wait(60)
    node.xid("bb", 48, DOUBLE_BIT)
    node.gpu("bb", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.wait(600, 60)
    node.xid("bb", 95, "Uncontained: LTC TAG (0x0, 0x2). RST: Yes, D-RST: No", pid="4714")
    node.wait(600, 60)


CASES = (
    fabric_is_there_six_minutes_after_a_boot,
    fabric_is_there_four_minutes_after_the_driver,
    fabric_is_never_there_after_a_boot,
    fabric_is_never_there_after_the_driver,
    package_is_warm_for_a_moment_on_all_its_threads,
    package_is_warm_where_nothing_counts_it,
    package_stays_hot_where_nothing_counts_it,
    link_repeats_packets_for_minutes,
    payload_of_a_link_is_damaged,
    links_repeat_a_packet_now_and_then,
    driver_is_removed_and_not_installed_again,
    card_has_no_driver_since_the_boot,
    operator_installs_the_driver_for_ten_minutes,
    display_is_driven_by_nouveau,
    screen_of_a_processor_has_no_driver,
    driver_resets_a_virtual_adapter_four_times,
    resets_of_a_virtual_adapter_fail,
    uncontained_error_is_counted_a_minute_later,
    double_bit_error_is_consumed_minutes_later,
)
