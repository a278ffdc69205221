"""Nodes that are noisy and well: what they show looks like a fault and is none."""

from tests.corpus.labels import healthy
from tests.corpus.machines import (
    blackwell,
    h100,
    limits,
    processors_only,
    trainer,
    workstation,
)
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
    node.put(**{"Workloads": trainer()["Workloads"]})
    node.wait(600, 30)


@healthy("gpu_power_capped", never=("gpu_clock_low", "gpu_straggler", "gpu_power_brake"))
def training_at_the_power_limit(node: Story) -> None:
    """Every card draws what it may, and software holds the clocks down for it: by design."""
    node.gpus(clock_limit_active=limits("sw_power_cap"), power_draw_watts=698.0)
    for step, bus in enumerate(node.bus_addresses):
        node.gpu(bus, clock_hertz={"sm": 1.41e9 + 4e7 * step, "graphics": 1.41e9})
    node.wait(1800, 60)


@healthy("gpu_power_limit_low", "gpu_power_capped")
def power_limit_set_by_the_operator(node: Story) -> None:
    """All cards run at 500 of 700 W because somebody wants it: a remark at most."""
    wanted = {"min": 200, "max": 700, "default": 700, "requested": 500}
    node.gpus(power_limit_watts=500.0, power_limit_range_watts=wanted, power_draw_watts=498.0)
    node.gpus(clock_limit_active=limits("sw_power_cap"))
    node.wait(1800, 60)


@healthy()
def clocks_locked_by_the_operator(node: Story) -> None:
    """One card runs at locked low clocks: the driver says that they were asked for."""
    node.gpu("3b", clock_hertz={"sm": 9e8, "graphics": 9e8})
    node.gpu("3b", clock_limit_active=limits("app_clocks"))
    node.wait(900, 60)


@healthy()
def card_with_instances(node: Story) -> None:
    """MIG: the card itself has no utilization and the links are off."""
    node.gpus(mig_enabled=True, utilization_percent=None, nvlink_up=None)
    node.gpus(memory_controller_utilization_percent=None, nvlink_errors_total=None)
    for place in range(2):
        node.gpu(
            "3b",
            **{
                "mig_instances": [
                    {
                        "gpu_instance": place + 1,
                        "compute_instance": 0,
                        "mig_uuid": f"MIG-{place}",
                        "profile": "3g.40gb",
                        "memory_total_bytes": 40 * 2**30,
                        "memory_used_bytes": 2**30,
                    }
                ]
            },
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
        node.gpu("3b", clock_limit_active=limits("sw_power_cap"), power_draw_watts=449.0)
        node.wait(60)
        node.gpu("3b", clock_limit_active=limits(), power_draw_watts=390.0)
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


@healthy(node=processors_only)
def server_without_a_gpu(node: Story) -> None:
    """No card, no driver, no wish for either."""
    node.wait(1800, 60)


@healthy(node=processors_only)
def backup_writes_all_night(node: Story) -> None:
    """A disk is busy all the time with long queues, and answers in time."""
    node.wait(60)
    node.rate(2000.0, "Disks", "disks", "nvme1n1", "writes_completed")
    node.rate(1.0, "Disks", "disks", "nvme1n1", "io_time_seconds")
    node.rate(30.0, "Disks", "disks", "nvme1n1", "queue_time_seconds")
    node.put("Disks", "disks", "nvme1n1", io_in_flight=32)
    node.pressure("io", "some", 25.0)
    node.pressure("io", "full", 4.0)
    node.wait(1800, 60)


@healthy("driver_version_mismatch", "gpu_count_low")
def driver_is_upgraded(node: Story) -> None:
    """The module is unloaded and a newer one loaded: the cards vanish for a minute and return."""
    node.wait(60)
    node.job_ends()
    node.wait(30)
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver", "nvml_up": None})
    node.put("Gpus", states={bus: None for bus in ("1b", "3b", "9b", "bb")})
    node.wait(45)
    node.log("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  595.45.04")
    node.wait(30)
    node.put(**{"Gpus": trainer()["Gpus"]})
    node.put("Gpus", "backend", driver_version="595.45.04")
    node.idle_clocks()
    node.gpus(fabric_state="in_progress")
    node.wait(45)
    node.gpus(fabric_state="completed", processes=[], memory_used_bytes=0)
    node.wait(600, 30)


@healthy()
def card_is_reset(node: Story) -> None:
    """Counters jump back to nothing and the links of the peers train anew."""
    node.gpu("3b", pcie_replays_total=900, nvlink_errors_total={"crc_flit": 90_000, "replay": 700})
    node.job_ends()
    node.wait(120, 30)
    node.gpu("3b", pcie_replays_total=0, nvlink_errors_total={"crc_flit": 0, "replay": 0})
    node.gpu("3b", ecc_errors_total={"corrected": {"volatile": 0}})
    node.wait(600, 60)


@healthy(never=("net_link_flap",))
def link_is_reset_on_purpose(node: Story) -> None:
    """An operator takes an interface down and up again once."""
    node.wait(60)
    node.log("mlx5_core 0000:5c:00.0 eth0: Link down")
    node.put("Network", "interfaces", "eth0", up=False, admin_up=False, operstate="down")
    node.put("Network", "interfaces", "eth0", carrier_changes=3)
    node.wait(45)
    node.log("mlx5_core 0000:5c:00.0 eth0: Link up")
    node.put("Network", "interfaces", "eth0", up=True, admin_up=True, operstate="up")
    node.put("Network", "interfaces", "eth0", carrier_changes=4)
    node.wait(900, 60)


@healthy()
def node_has_just_booted(node: Story) -> None:
    """Boot lines of drivers, cards that are not in the fabric yet, a clock not in step yet."""
    node.gpus(fabric_state="in_progress", nvlink_up={"all": 1})
    node.put("Clock", synchronized=False, offset_seconds=0.4)
    node.log(
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.124.06",
        "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0",
        "pcieport 0000:3a:00.0: AER: enabled with IRQ 124",
        "mce: CPU supports 32 MCE banks",
        "nvme nvme0: 63/0/0 default/read/poll queues",
        "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
        "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged",
        "mlx5_core 0000:5c:00.0: mlx5_pcie_event:301:(pid 812): Detected insufficient power on "
        "the PCIe slot (27W).",
        "NVRM: GPU at PCI:0000:3b:00: GPU-3b",
    )
    node.wait(60)
    node.gpus(fabric_state="completed")
    node.put("Clock", synchronized=True, offset_seconds=0.0001)
    node.wait(600, 60)


@healthy()
def exporter_was_restarted(node: Story) -> None:
    """The first look of a new process at counters with a long history and an old gap."""
    node.gpus(
        ecc_errors_total={
            "corrected": {"volatile": 480, "aggregate": 9000},
            "uncorrected": {"volatile": 0, "aggregate": 4},
        },
        remapped_rows_total={"corrected": 2, "uncorrected": 4},
        pcie_replays_total=3000,
    )
    node.put("CpuHealth", thermal_throttles={"core": 9000, "package": 9000})
    node.put("MemoryErrors", "controllers", "mc1", "dimms", "a", corrected_errors=700)
    node.put("Network", "interfaces", "eth0", receive_drops=900_000, receive_errors=12)
    node.put("Pcie", "devices", "3b", errors_by_severity={"correctable": 900, "nonfatal": 2})
    node.wait(1200, 60)


@healthy()
def one_look_was_late(node: Story) -> None:
    """One pass over the cards did not end in time: values are old once, then fresh again."""
    node.wait(60)
    _values_are_old(node)
    node.now()
    node.wait(14, 14)
    _values_are_fresh(node)
    node.wait(600, 60)


@healthy("telemetry_stale", "backend_stuck", "nvml_unavailable", never=("gpu_overheat",))
def values_are_old_for_minutes(node: Story) -> None:
    """Nothing answers for minutes and values expire: nothing is concluded from what is old."""
    node.wait(60)
    _values_are_old(node)
    node.wait(120)
    for bus in node.bus_addresses:
        node.state(bus, expired=True, up=False)
    node.wait(120)
    _values_are_fresh(node)
    node.wait(600, 60)


def _values_are_old(node: Story) -> None:
    for bus in node.bus_addresses:
        node.state(bus, stale=True)
    node.put("Gpus", "backend", backend="cache", reason="timeout", nvml_up=False)
    node.gpus(temperature_celsius=99.0, thermal_margin_celsius=-3.0)


def _values_are_fresh(node: Story) -> None:
    for bus in node.bus_addresses:
        node.state(bus, stale=False, expired=False, up=True)
    node.gpus(temperature_celsius=62.0, thermal_margin_celsius=25.0)
    node.put("Gpus", "backend", backend="nvml", reason="ok", nvml_up=True)


@healthy()
def trickle_of_small_errors(node: Story) -> None:
    """A few corrected errors here and there: within the budget of every link."""
    node.rate(0.001, "Pcie", "devices", "3b", "errors_by_severity", "correctable")
    node.rate(1.5, "Gpus", "states", "3b", "gpu", "nvlink_errors_total", "crc_flit")
    node.rate(0.02, "Infiniband", "ports", "mlx5_0", "errors", "symbol_error")
    node.rate(0.01, "Network", "interfaces", "eth0", "receive_drops")
    node.wait(3600, 60)


@healthy()
def neighbours_that_were_never_used(node: Story) -> None:
    """A fabric port and an interface that have been down since boot: nobody cabled them."""
    down = {"state": "down", "phys_state": "disabled", "receive_bytes": 0, "transmit_bytes": 0}
    node.put("Infiniband", "ports", "mlx5_2", device="mlx5_2", port="1", link_layer="InfiniBand")
    node.put("Infiniband", "ports", "mlx5_2", **down)
    idle = {"device": "eth1", "up": False, "admin_up": True, "operstate": "down"}
    node.put("Network", "interfaces", "eth1", **idle, receive_packets=0, transmit_packets=0)
    node.put("Network", "interfaces", "veth12ab", device="veth12ab", up=True, admin_up=True)
    node.wait(120, 60)
    node.put("Network", "interfaces", veth12ab=None)
    node.wait(600, 60)


@healthy(node=blackwell)
def links_sleep_and_errors_are_injected(node: Story) -> None:
    """Xid 155 of a sleeping link, and a 149 that says that somebody injected it."""
    node.wait(60)
    node.xid("3b", 155, "NVLINK: Link 07 going to sleep")
    words = "0x00400011 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000"
    node.log(f"NVRM: Xid (PCI:0000:9b:00): 149, NETIR_LINK_DOWN  Fatal   XC0 i1 Link 07 ({words})")
    node.wait(600, 60)


@healthy()
def forged_lines_in_names(node: Story) -> None:
    """Names of processes that pretend to be lines of the driver, and chatter of a switch."""
    node.log(
        "NVRM: Xid (PCI: invoked oom-killer: gfp_mask=0x0, order=0, oom_score_adj=985",
        'audit: type=1400 comm="NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen"',
        "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 22013, Non-fatal, Link 03 Minion Link DLREQ",
    )
    node.wait(300, 30)


@healthy("pod_oom_kill", "process_oom_kill")
def short_pods_die_at_their_limits(node: Story) -> None:
    """A pod that has nothing to do with GPUs is killed at its own limit: a remark at most."""
    node.wait(30)
    group = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podaaaa_1.slice"
    node.log(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-3f.scope,"
        f"mems_allowed=0-1,oom_memcg={group},task_memcg={group},task=cron,pid=99,uid=0",
        "Memory cgroup out of memory: Killed process 99 (cron) total-vm:8kB, anon-rss:4kB, "
        "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:985",
    )
    node.wait(120, 30)


@healthy(node=processors_only)
def memory_full_of_page_cache(node: Story) -> None:
    """Nothing is free, but almost all is available; short peaks of pressure."""
    node.put("Memory", free_bytes=2**29, cached_bytes=600 * 2**30)
    for _ in range(4):
        node.pressure("memory", "some", 12.0)
        node.pressure("cpu", "some", 70.0)
        node.wait(30)
        node.pressure("memory", "some", 0.0)
        node.pressure("cpu", "some", 5.0)
        node.wait(120, 30)


CASES = (
    training,
    model_is_loaded,
    cards_idle_between_jobs,
    inference_waits_for_requests,
    job_ends_with_eleven_thousand_xid_45,
    job_killed_and_restarted,
    training_at_the_power_limit,
    power_limit_set_by_the_operator,
    clocks_locked_by_the_operator,
    card_with_instances,
    guest_of_a_virtual_gpu,
    desktop_card_idle_with_its_fans_off,
    desktop_card_gaming,
    laptop_whose_card_sleeps,
    server_without_a_gpu,
    backup_writes_all_night,
    driver_is_upgraded,
    card_is_reset,
    link_is_reset_on_purpose,
    node_has_just_booted,
    exporter_was_restarted,
    one_look_was_late,
    values_are_old_for_minutes,
    trickle_of_small_errors,
    neighbours_that_were_never_used,
    links_sleep_and_errors_are_injected,
    forged_lines_in_names,
    short_pods_die_at_their_limits,
    memory_full_of_page_cache,
)
