"""GPUs and jobs that are noisy and well: what they show looks like a fault and is none."""

from tests.corpus.labels import healthy
from tests.corpus.machines import (
    blackwell,
    processors_only,
    trainer,
    workstation,
)
from tests.corpus.parts import h100, limits
from tests.corpus.story import Story


@healthy()
def training(node: Story) -> None:
    """An hour of training: busy, warm with margin, nothing else."""
    node.wait(3600, 60)


@healthy()
def model_is_loaded(node: Story) -> None:
    """Four minutes of reading: cards idle, the disk is full of work, pressure on I/O."""
    node.wait(30)
    node.idle_since_now()
    node.pressure("io", "full", 8.0)
    node.pressure("io", "some", 30.0)
    node.rate(8000.0, "Disks", "disks", "nvme1n1", "reads_completed")
    node.rate(1.0, "Disks", "disks", "nvme1n1", "io_time_seconds")
    node.rate(20.0, "Disks", "disks", "nvme1n1", "queue_time_seconds")
    node.wait(240, 30)
    node.busy_again()
    node.pressure("io", "full", 0.0)
    node.pressure("io", "some", 0.0)
    for name in ("reads_completed", "io_time_seconds", "queue_time_seconds"):
        node.rate(0.0, "Disks", "disks", "nvme1n1", name)
    node.wait(600, 30)


@healthy()
def cards_idle_between_jobs(node: Story) -> None:
    """No job: idle clocks, PCIe slowed down by the driver, for an hour."""
    node.job_ends()
    node.gpus(pcie_link_generation=1, performance_state=8)
    node.wait(3600, 120)


@healthy("gpu_idle_allocated", "gpu_allocated_unused")
def inference_waits_for_requests(node: Story) -> None:
    """Memory is held and nothing is asked for: held by design, a remark at most."""
    node.wait(30)
    node.idle_since_now()
    for pid in (4711, 4712, 4713, 4714):
        node.process(pid, state="sleeping")
    node.wait(3600, 120)


@healthy("gpu_app_fault", never=("gpu_xid_critical", "gpu_xid_warning"))
def job_ends_with_eleven_thousand_xid_45(node: Story) -> None:
    """Channels are torn down by the thousand when a job is deleted."""
    node.wait(30)
    for _ in range(22):
        for channel in range(500):
            bus = ("1b", "3b", "9b", "bb")[channel % 4]
            text = f"pid={4711 + channel % 4}, name=trainer, Ch {channel:08x}"
            node.log(f"NVRM: Xid (PCI:0000:{bus}:00): 45, {text}")
        node.wait(5, 5)
    node.job_ends()
    node.wait(300, 30)


@healthy("gpu_app_fault")
def job_killed_and_restarted(node: Story) -> None:
    """A pod is deleted (Xid 43, 45) and started again a minute later with new processes."""
    node.wait(60)
    for index, bus in enumerate(node.bus_addresses):
        node.xid(bus, 43, "Ch 00000010", pid=str(4711 + index), name="trainer")
        node.xid(bus, 45, "Ch 00000010", pid=str(4711 + index), name="trainer")
    node.job_ends()
    node.wait(60)
    for state in trainer()["Gpus"]["states"].items():
        node.gpu(state[0], **state[1]["gpu"])
    node.put(Workloads=trainer()["Workloads"])
    node.wait(600, 30)


@healthy("gpu_app_fault", never=("gpu_suspect_hardware",))
def faulty_program_is_started_again_and_again(node: Story) -> None:
    """Each time it fails all over the card: the program is wrong, and the card is well."""
    node.wait(60)
    for start in range(6):
        pid = str(5000 + start)
        for gpc, tpc in ((0, 0), (0, 3), (2, 1), (5, 7)):
            where = f"(GPC {gpc}, TPC {tpc}, SM 0)"
            text = f"Graphics SM Warp Exception on {where}: Out Of Range Address"
            node.xid("3b", 13, text, pid=pid, name="trainer")
        node.wait(600, 300)


@healthy("gpu_app_fault", never=("gpu_suspect_hardware",))
def one_process_fails_at_one_place_many_times(node: Story) -> None:
    """A loop that goes on after each error: one process says nothing about the card."""
    node.wait(60)
    text = "Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0): Misaligned Address"
    for _ in range(20):
        node.xid("3b", 13, text, pid="4712", name="trainer")
        node.wait(60)


@healthy("gpu_power_capped", never=("gpu_clock_low", "gpu_straggler", "gpu_power_brake"))
def training_at_the_power_limit(node: Story) -> None:
    """Every card draws what it may, and software holds the clocks down for it: by design."""
    node.gpus(throttle_active=limits("sw_power_cap"), power_draw_watts=698.0)
    for step, bus in enumerate(node.bus_addresses):
        node.gpu(bus, clock_hertz={"sm": 1.41e9 + 4e7 * step, "graphics": 1.41e9})
    node.wait(1800, 60)


@healthy("gpu_power_limit_low", "gpu_power_capped")
def power_limit_set_by_the_operator(node: Story) -> None:
    """All cards run at 500 of 700 W because somebody wants it: a remark at most."""
    wanted = {"min": 200, "max": 700, "default": 700, "requested": 500}
    node.gpus(power_limit_watts=500.0, power_limit_range_watts=wanted, power_draw_watts=498.0)
    node.gpus(throttle_active=limits("sw_power_cap"))
    node.wait(1800, 60)


@healthy()
def clocks_locked_by_the_operator(node: Story) -> None:
    """One card runs at locked low clocks: the driver says that they were asked for."""
    node.gpu("3b", clock_hertz={"sm": 9e8, "graphics": 9e8})
    node.gpu("3b", throttle_active=limits("applications_clocks_setting"))
    node.wait(900, 60)


@healthy()
def card_with_instances(node: Story) -> None:
    """MIG: the card itself has no utilization and the links are off."""
    node.gpus(mig_enabled=True, utilization_percent=None, nvlink_up=None)
    node.gpus(memory_controller_utilization_percent=None, nvlink_errors_total=None)
    for place in range(2):
        node.gpu(
            "3b",
            mig_instances=[
                {
                    "gpu_instance": place + 1,
                    "compute_instance": 0,
                    "mig_uuid": f"MIG-{place}",
                    "profile": "3g.40gb",
                    "memory_total_bytes": 40 * 2**30,
                    "memory_used_bytes": 2**30,
                }
            ],
        )
    node.wait(900, 60)


def _guest() -> dict[str, object]:
    node = processors_only()
    card = h100(0, "3b", name="GRID A100D-40C", architecture="ampere")["gpu"]
    keep = ("index", "uuid", "name", "pci_bus_id", "architecture", "memory_total_bytes")
    kept = (*keep, "memory_used_bytes", "utilization_percent", "clock_hertz")
    gpu = {name: card[name] for name in kept}
    backend = {"backend": "nvml", "reason": "ok", "nvml_up": True}
    node["Gpus"] = {"backend": backend, "states": {"3b": {"gpu": gpu}}}
    for name in ("MemoryErrors", "Sensors", "Pcie", "NvmeHealths"):
        del node[name]
    return node


@healthy(node=_guest)
def guest_of_a_virtual_gpu(node: Story) -> None:
    """A guest sees neither power nor heat nor errors, nor the bus below."""
    node.wait(900, 60)


@healthy(node=workstation)
def desktop_card_idle_with_its_fans_off(node: Story) -> None:
    """No ECC, no links; fans stand still while the card is cool."""
    node.idle_clocks("3b")
    node.gpu("3b", fan_speed_percent={"0": 0, "1": 0}, temperature_celsius=44.0)
    node.gpu("3b", processes=[{"pid": 900, "kind": "graphics"}])
    node.put("Workloads", clients=None, uses=None)
    node.wait(1800, 60)


@healthy(node=workstation)
def desktop_card_gaming(node: Story) -> None:
    """Warm but within its limits, fans at work, limited by power now and then."""
    node.gpu("3b", temperature_celsius=79.0, thermal_margin_celsius=8.0)
    node.gpu("3b", fan_speed_percent={"0": 82, "1": 79})
    for _ in range(6):
        node.gpu("3b", throttle_active=limits("sw_power_cap"), power_draw_watts=449.0)
        node.wait(60)
        node.gpu("3b", throttle_active=limits(), power_draw_watts=390.0)
        node.wait(60)


def _laptop() -> dict[str, object]:
    node = workstation()
    card = node["Gpus"]["states"]["3b"]["gpu"]
    card["name"] = "NVIDIA GeForce RTX 4070 Laptop GPU"
    for name in ("power_limit_watts", "power_limit_range_watts", "fan_speed_percent"):
        del card[name]
    for name in ("MemoryErrors", "Sensors", "Infiniband", "NvmeHealths"):
        node.pop(name, None)
    node["Workloads"] |= {"clients": {}, "uses": {}}
    card |= {"utilization_percent": 0.0, "performance_state": 8, "processes": []}
    node["Network"]["interfaces"]["wlan0"] = {"device": "wlan0", "up": True, "admin_up": True}
    unused = {"device": "enp2s0", "up": False, "admin_up": True, "operstate": "down"}
    node["Network"]["interfaces"]["enp2s0"] = {**unused, "carrier_changes": 1, "receive_packets": 0}
    return node


@healthy(node=_laptop)
def laptop_whose_card_sleeps(node: Story) -> None:
    """The card is suspended: it is not asked, and its values are old; the cable is not plugged."""
    node.wait(60)
    node.put("Pcie", "devices", "3b", suspended=True, width=None, speed_bytes_per_second=None)
    node.state("3b", stale=True)
    node.wait(120)
    node.state("3b", expired=True)
    node.wait(600, 60)


@healthy()
def card_is_reset(node: Story) -> None:
    """Counters jump back to nothing and the links of the peers train anew."""
    node.gpu("3b", pcie_replays_total=900, nvlink_errors_total={"crc_flit": 90_000, "replay": 700})
    node.job_ends()
    node.wait(120, 30)
    node.gpu("3b", pcie_replays_total=0, nvlink_errors_total={"crc_flit": 0, "replay": 0})
    node.gpu("3b", ecc_errors_total={"corrected": {"volatile": 0}})
    node.wait(600, 60)


@healthy()
def one_look_was_late(node: Story) -> None:
    """One pass over the cards did not end in time: values are old once, then fresh again."""
    node.wait(60)
    _values_are_old(node)
    node.now()
    node.wait(14, 14)
    _values_are_fresh(node)
    node.wait(600, 60)


@healthy()
def one_card_is_asked_too_late(node: Story) -> None:
    """Every pass ends before the last card is asked: its values are old, the others are fresh."""
    node.wait(60)
    node.gpu("bb", temperature_celsius=99.0, thermal_margin_celsius=-3.0)
    node.state("bb", stale=True)
    node.wait(300)
    node.state("bb", expired=True)
    node.wait(120)
    node.gpu("bb", temperature_celsius=62.0, thermal_margin_celsius=25.0)
    node.state("bb", stale=False, expired=False)
    node.wait(120)


def _values_are_old(node: Story) -> None:
    for bus in node.bus_addresses:
        node.state(bus, stale=True)
    node.put("Gpus", "backend", backend="cache", reason="timeout", nvml_up=False)
    node.gpus(temperature_celsius=99.0, thermal_margin_celsius=-3.0)


def _values_are_fresh(node: Story) -> None:
    for bus in node.bus_addresses:
        node.state(bus, stale=False)
    node.gpus(temperature_celsius=62.0, thermal_margin_celsius=25.0)
    node.put("Gpus", "backend", backend="nvml", reason="ok", nvml_up=True)


@healthy(node=blackwell)
def links_sleep_and_errors_are_injected(node: Story) -> None:
    """Xid 155 of a sleeping link, and a 149 that says that somebody injected it."""
    node.wait(60)
    node.xid("3b", 155, "NVLINK: Link 07 going to sleep")
    words = "0x00400011 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000"
    node.log(f"NVRM: Xid (PCI:0000:9b:00): 149, NETIR_LINK_DOWN  Fatal   XC0 i1 Link 07 ({words})")
    node.wait(600, 60)


CASES = (
    training,
    model_is_loaded,
    cards_idle_between_jobs,
    inference_waits_for_requests,
    job_ends_with_eleven_thousand_xid_45,
    job_killed_and_restarted,
    faulty_program_is_started_again_and_again,
    one_process_fails_at_one_place_many_times,
    training_at_the_power_limit,
    power_limit_set_by_the_operator,
    clocks_locked_by_the_operator,
    card_with_instances,
    guest_of_a_virtual_gpu,
    desktop_card_idle_with_its_fans_off,
    desktop_card_gaming,
    laptop_whose_card_sleeps,
    card_is_reset,
    one_look_was_late,
    one_card_is_asked_too_late,
    links_sleep_and_errors_are_injected,
)
