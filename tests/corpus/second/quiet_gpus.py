"""Cards and jobs that look ill and are well."""

from tests.corpus.labels import healthy
from tests.corpus.machines import blackwell, processors_only, trainer, workstation
from tests.corpus.parts import GIB, h100, limits
from tests.corpus.story import Story
from tests.corpus.words import LOADS, NOTHING


@healthy()
def one_way_was_chosen_by_configuration(node: Story) -> None:
    """nvidia-smi was chosen: that NVML is not asked is no trouble of NVML."""
    node.put("Gpus", backend={"backend": "nvidia-smi", "reason": "disabled", "nvml_up": None})
    node.wait(1800, 60)


@healthy()
def one_way_was_chosen_as_old_versions_say_it(node: Story) -> None:
    """The same where NVML is said not to be up."""
    node.put("Gpus", backend={"backend": "nvidia-smi", "reason": "disabled", "nvml_up": False})
    node.wait(1800, 60)


@healthy("gpu_app_fault", never=("gpu_suspect_hardware",))
def restarted_pod_faults_under_new_pids(node: Story) -> None:
    """A pod with a bug is restarted: memory violations of three pids of one and the same job."""
    node.wait(60)
    text = (
        "MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f_0000. Fault is of type FAULT_PDE"
    )
    last = "4712"
    for pid in ("4712", "6001", "6002"):
        before = node.take_away("Workloads", "clients", last)
        node.put("Workloads", "clients", **{pid: {**before, "pid": int(pid)}})
        last = pid
        node.wait(60)
        node.xid("3b", 31, text, pid=pid, name="trainer")
        node.wait(600, 60)


@healthy("gpu_app_fault")
def exceptions_on_scattered_places(node: Story) -> None:
    """Xid 13 of one job, at another place of another card each time."""
    node.wait(60)
    for number, bus in enumerate(("1b", "3b", "9b", "bb")):
        place = f"(GPC {number}, TPC {number + 1}, SM 0)"
        text = f"Graphics SM Warp Exception on {place}: Out Of Range Address"
        node.xid(bus, 13, text, pid=str(4711 + number), name="trainer")
    node.wait(900, 60)


@healthy("gpu_app_fault", never=("gpu_lost", "gpu_xid_critical"))
def job_is_deleted(node: Story) -> None:
    """A job is deleted: 43 and 45 on all its cards, then idle cards."""
    node.wait(60)
    for number, bus in enumerate(node.bus_addresses):
        node.xid(bus, 45, "Ch 00000009", pid=str(4711 + number), name="trainer")
        node.xid(bus, 43, "Ch 00000009", pid=str(4711 + number), name="trainer")
    node.job_ends()
    node.wait(1800, 60)


@healthy("gpu_app_fault")
def cleanup_names_the_error_before(node: Story) -> None:
    """Xid 45 with its own cause behind it, of a program's fault."""
    node.wait(60)
    node.xid("3b", 31, "MMU Fault: ENGINE CE2 faulted @ 0x7e21_4c.", pid="4712", name="trainer")
    node.xid("3b", 45, "Ch 00000009 caused by previous Xid 31", pid="4712", name="trainer")
    node.wait(600, 60)


@healthy()
def card_with_a_history(node: Story) -> None:
    """Old errors and old repairs in lifetime counters, none of them new, nothing pending."""
    node.gpu("9b", remapped_rows_total={"corrected": 4, "uncorrected": 1})
    errors = {
        "corrected": {"volatile": 2, "aggregate": 912},
        "uncorrected": {"volatile": 0, "aggregate": 3},
    }
    node.gpu("9b", ecc_errors_total=errors)
    node.wait(3600, 120)


@healthy()
def repair_of_last_week_is_in_the_log_no_more(node: Story) -> None:
    """The driver says that nothing is wanted, by Xid 154 too."""
    node.wait(60)
    node.xid("3b", 154, NOTHING)
    node.wait(600, 60)


@healthy()
def corrected_errors_trickle(node: Story) -> None:
    """A few corrected errors of memory and bus an hour, replays far below what matters."""
    node.rate(0.001, "Gpus", "states", "3b", "gpu", "ecc_errors_total", "corrected", "volatile")
    node.rate(0.002, "Pcie", "devices", "3b", "errors_by_severity", "correctable")
    node.rate(0.05, "Gpus", "states", "3b", "gpu", "pcie_replays_total")
    node.rate(0.5, "Gpus", "states", "3b", "gpu", "nvlink_errors_total", "crc_flit")
    node.wait(4 * 3600, 300)


@healthy(node=blackwell)
def links_sleep_and_tests_inject(node: Story) -> None:
    """Xid 155 of a sleeping link, and an error that a test injected on purpose."""
    node.wait(60)
    node.xid("3b", 155, "NVLink: SW defined Xid - Link 4 went to sleep")
    words = "NETIR_BER_EVENT Fatal   XC0 i1 Link 02 (0x00000000 0x00000000 0x00000000 0x00000000)"
    node.xid("9b", 149, words)
    node.wait(900, 60)


@healthy()
def switches_chatter(node: Story) -> None:
    """Harmless words of the switches, as documented."""
    node.wait(60)
    where = "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): "
    for _ in range(3):
        node.log(where + "22013, Non-fatal, Link 12 Minion Link DLREQ interrupt")
        node.log(where + "20001, Non-fatal, Link 12 TX Replay Error")
        node.wait(120)
    node.wait(600, 60)


@healthy()
def training_at_the_limit_of_its_power(node: Story) -> None:
    """Draw at the limit and clocks below the maximum for an hour: designed so."""
    node.gpus(power_draw_watts=698.0, power_average_watts=697.0)
    node.gpus(throttle_active=limits("sw_power_cap"), clock_hertz={"sm": 1.41e9})
    node.wait(3600, 120)


@healthy()
def operator_locked_the_clocks(node: Story) -> None:
    """Application clocks far below the maximum."""
    node.gpus(throttle_active=limits("app_clocks"), clock_hertz={"sm": 9e8, "graphics": 9e8})
    node.wait(3600, 120)


@healthy("gpu_persistence_off", node=workstation)
def desk_at_night(node: Story) -> None:
    """A card of a desk sleeps: fans stand still, links slow, clocks at the floor."""
    node.job_ends()
    node.gpu("3b", fan_speed_percent={"0": 0, "1": 0}, temperature_celsius=41.0)
    node.gpu("3b", pcie_link_generation=1, performance_state=8)
    node.wait(3600, 120)


@healthy(never=("gpu_lost",))
def cards_are_cut_in_slices(node: Story) -> None:
    """MIG is turned on for a card: utilisation is not said any more, the job moves."""
    node.wait(60)
    node.job_ends()
    node.gpu("3b", mig_enabled=True, utilization_percent=None)
    node.gpu("3b", memory_controller_utilization_percent=None)
    node.wait(1800, 60)


@healthy()
def node_has_just_started(node: Story) -> None:
    """The driver loads: cards come after half a minute, the fabric after a minute more."""
    gpus = node.take_away("Gpus", "states")
    node.put("Gpus", states={})
    node.put("Gpus", backend={"backend": "none", "reason": "pending", "nvml_up": None})
    work = node.take_away("Workloads", "clients")
    node.put("Workloads", clients={}, uses={})
    node.log("nvidia: loading out-of-tree module taints kernel.", LOADS)
    node.wait(30)
    node.put("Gpus", states=gpus, backend={"backend": "nvml", "reason": "ok", "nvml_up": True})
    node.gpus(
        fabric_state="in_progress",
        fabric_healthy=None,
        nvlink_up={str(link): 0 for link in range(18)},
    )
    node.wait(60)
    node.gpus(
        fabric_state="completed",
        fabric_healthy=True,
        nvlink_up={str(link): 1 for link in range(18)},
    )
    node.put("Workloads", clients=work)
    node.wait(900, 60)


_CARD = {"device": "0000:3b:00.0", "kind": "gpu", "parent": "0000:3a:00.0"}


@healthy(node=processors_only)
def virtual_machine_with_a_whole_card(node: Story) -> None:
    """No driver here and a card on the bus, bound to vfio-pci: it belongs to a guest."""
    node.put("Pcie", "devices", x=dict(_CARD, driver="vfio-pci"))
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver"}, states={})
    node.wait(1800, 60)


@healthy(never=("gpu_count_low",))
def one_card_is_lent_to_a_guest(node: Story) -> None:
    """Three cards work here, the fourth is bound to vfio-pci and given to a virtual machine."""
    node.put("Pcie", "devices", "bb", driver="vfio-pci")
    node.put("Gpus", "states", bb=None)
    node.put("Workloads", "uses", bb=None)
    node.put("Workloads", "clients", **{"4714": None})
    node.wait(1800, 60)


@healthy("gpu_idle_allocated")
def checkpoint_is_written_for_minutes(node: Story) -> None:
    """All cards idle while a checkpoint is written, four minutes of it, again and again."""
    for _ in range(3):
        node.idle_since_now()
        node.pressure("io", "some", 20.0)
        node.wait(240, 30)
        node.busy_again()
        node.pressure("io", "some", 0.0)
        node.wait(600, 60)


@healthy(node=workstation)
def cards_memory_is_unified(node: Story) -> None:
    """A small board whose memory is the processor's: no sizes, no limit, no ECC, no links."""
    unsaid = ("memory_total_bytes", "memory_used_bytes", "memory_free_bytes", "power_limit_watts")
    node.gpu("3b", **dict.fromkeys((*unsaid, "power_limit_range_watts", "ecc_enabled")))
    node.gpu("3b", memory_reserved_bytes=None, persistence_mode=True)
    node.wait(1800, 60)


@healthy("gpu_memory_pressure")
def memory_is_full_by_design(node: Story) -> None:
    """A server of models takes nearly all memory and holds it."""
    node.gpus(memory_used_bytes=78 * GIB, memory_free_bytes=GIB)
    node.wait(1800, 60)


@healthy(node=trainer)
def a_fifth_card_of_another_kind(node: Story) -> None:
    """A small card for pictures beside the big ones: no links, no ECC, its own clocks."""
    small = h100(4, "5d", name="NVIDIA T4", architecture="turing", ecc_enabled=False)
    for name in list(small["gpu"]):
        if name.startswith(("nvlink", "fabric", "row_remap", "remapped", "sram")):
            del small["gpu"][name]
    small["gpu"] |= {"utilization_percent": 5.0, "clock_hertz": {"sm": 5.85e8}, "processes": []}
    small["gpu"] |= {"throttle_active": limits("idle"), "memory_used_bytes": 0}
    node.put("Gpus", "states", **{"5d": small})
    devices = {"device": "0000:5d:00.0", "kind": "gpu", "parent": "0000:17:01.0"}
    node.put("Pcie", "devices", **{"5d": devices})
    node.wait(1800, 60)


CASES = (
    one_way_was_chosen_by_configuration,
    one_way_was_chosen_as_old_versions_say_it,
    restarted_pod_faults_under_new_pids,
    exceptions_on_scattered_places,
    job_is_deleted,
    cleanup_names_the_error_before,
    card_with_a_history,
    repair_of_last_week_is_in_the_log_no_more,
    corrected_errors_trickle,
    links_sleep_and_tests_inject,
    switches_chatter,
    training_at_the_limit_of_its_power,
    operator_locked_the_clocks,
    desk_at_night,
    cards_are_cut_in_slices,
    node_has_just_started,
    virtual_machine_with_a_whole_card,
    one_card_is_lent_to_a_guest,
    checkpoint_is_written_for_minutes,
    cards_memory_is_unified,
    memory_is_full_by_design,
    a_fifth_card_of_another_kind,
)
