"""Nodes of this batch: jobs whose calls are counted, cards of other vendors, shared cards."""

from collections.abc import Iterable, Mapping

from tests.corpus.machines import board, trainer
from tests.corpus.parts import GIB, JOB, PORT_ABOVE, Tree, client, pcie_device, use
from tests.corpus.story import Story

COMM = "9f3c1a7be2d04455"
RANKS = (4711, 4712, 4713, 4714)
CARDS = tuple(PORT_ABOVE)
COMM_PATH = ("TracedCalls", "communicators", "job")
AMD_CARDS = ("05", "26", "46", "65")


def counted_job(*, ranks: int = 4) -> Tree:
    """Four H100; the job on them is one communicator, of which `ranks` may be on other nodes."""
    node = trainer()
    node["TracedCalls"] = {
        "libraries": 2,
        "communicators": {
            "job": {
                "id": COMM,
                "workload": JOB,
                "ranks": ranks,
                "ranks_here": 4,
                "pids": list(RANKS),
            }
        },
    }
    return node


def counted_job_of_two_nodes() -> Tree:
    """The same, and four more ranks on another node."""
    return counted_job(ranks=8)


def rank_text(ranks: Iterable[int], state: str = "") -> str:
    """Name ranks as the exporter does."""
    words = f", {state}" if state else ""
    return ", ".join(f"rank {rank} (pid {RANKS[rank]}{words})" for rank in ranks)


def waits_for(node: Story, *ranks: int, state: str = "", call: str = "ncclAllReduce") -> None:
    """From now on the other ranks of the node wait in a collective, for these or for nobody here.

    `state` is that of the missing ranks where it is not a usual one.
    """
    node.put(
        *COMM_PATH,
        waiting_secs=0.0,
        waiting_ranks=4 - len(ranks),
        call=call,
        missing=rank_text(ranks, state),
        missing_ranks=len(ranks),
        missing_pids=[RANKS[rank] for rank in ranks],
    )
    node.rate(1.0, *COMM_PATH, "waiting_secs")


def goes_on(node: Story) -> None:
    """All ranks meet again."""
    node.rate(0.0, *COMM_PATH, "waiting_secs")
    node.put(*COMM_PATH, waiting_secs=0.0, waiting_ranks=0, missing="", missing_ranks=0)
    node.put(*COMM_PATH, missing_pids=[])


def is_late(node: Story, rank: int, ratio: float, secs: float) -> None:
    """One rank has entered later than the others in each of the last windows."""
    pid = RANKS[rank]
    node.put(*COMM_PATH, late=rank_text((rank,)), late_pid=pid, late_secs=secs, late_ratio=ratio)


def nobody_is_late(node: Story) -> None:
    """No rank was late in all of the last windows."""
    node.put(*COMM_PATH, late="", late_pid=None, late_secs=0.0, late_ratio=0.0)


def job_is_gone(node: Story) -> None:
    """All ranks have left their communicator, and their processes are gone."""
    node.put("TracedCalls", libraries=0, communicators={"job": None})
    node.job_ends()


def spins(node: Story, *buses: str) -> None:
    """These cards wait inside a kernel of NCCL: busy, without traffic or power."""
    for bus in buses:
        node.gpu(bus, utilization_percent=100.0, memory_controller_utilization_percent=0.0)
        node.gpu(bus, power_draw_watts=124.0, temperature_celsius=45.0, thermal_margin_celsius=42.0)


def works(node: Story, *buses: str) -> None:
    """These cards compute."""
    for bus in buses:
        node.gpu(bus, utilization_percent=97.0, memory_controller_utilization_percent=45.0)
        node.gpu(bus, power_draw_watts=560.0, temperature_celsius=62.0, thermal_margin_celsius=25.0)


# -- cards of other vendors ----------------------------------------------------------------------


def _other_vendor(backend: str, cards: Mapping[str, Tree]) -> Tree:
    """A server with cards of one vendor that is not NVIDIA, by their buses."""
    node = board()
    devices = node["Pcie"]["devices"]
    for low, high in PORT_ABOVE.items():
        del devices[low], devices[high]
    for bus in cards:
        port = f"0000:{int(bus, 16) - 1:02x}:00.0"
        devices[f"port {bus}"] = pcie_device(port, "port", "0000:17:01.0")
        devices[bus] = pcie_device(f"0000:{bus}:00.0", "gpu", port)
    states = {
        bus: {"gpu": {"index": index, "pci_bus_id": f"0000:{bus}:00.0", **card}}
        for index, (bus, card) in enumerate(cards.items())
    }
    node["Gpus"] = {
        "backend": {"backend": "none", "reason": "no_driver"},
        "others": [{"backend": backend, "reason": "ok"}],
        "states": states,
    }
    pids = {bus: 7001 + index for index, bus in enumerate(cards)}
    node["Workloads"] = {
        "reason": "ok",
        "attribution_ratio": 1.0,
        "clients": {str(pid): client(pid, bus) for bus, pid in pids.items()},
        "uses": {bus: use(bus) for bus in cards},
        "totals": [{"gpu_uuid": f"GPU-{bus}", "orphan_memory_bytes": 0} for bus in cards],
    }
    return node


def mi300xs() -> Tree:
    """Four MI300X at work, as amdgpu shows them."""
    card = {
        "name": "AMD Instinct MI300X",
        "vendor": "amd",
        "architecture": "gfx942",
        "memory_total_bytes": 192 * GIB,
        "memory_used_bytes": 150 * GIB,
        "memory_free_bytes": 42 * GIB,
        "utilization_percent": 98.0,
        "memory_controller_utilization_percent": 51.0,
        "temperature_celsius": 68.0,
        "memory_temperature_celsius": 60.0,
        "thermal_margin_celsius": 32.0,
        "temperature_threshold_celsius": {"slowdown": 100, "shutdown": 105, "memory_max": 105},
        "power_draw_watts": 690.0,
        "power_limit_watts": 750.0,
        "power_limit_range_watts": {"min": 0, "max": 750, "default": 750},
        "clock_hertz": {"graphics": 1.95e9, "memory": 1.3e9},
        "clock_max_hertz": {"graphics": 2.1e9, "memory": 1.3e9},
        "energy_joules_total": 4.0e8,
        "throttle_active": {"sw_power_cap": 0, "sw_thermal_slowdown": 0, "hw_thermal_slowdown": 0},
        "ecc_enabled": True,
        "ecc_errors_total": {
            "corrected": {"volatile": 0},
            "deferred": {"volatile": 0},
            "uncorrected": {"volatile": 0},
        },
        "retired_pages_total": {"uncorrected": 0},
        "retired_pages_pending": False,
        "pcie_link_generation": 5,
        "pcie_link_generation_max": 5,
        "pcie_link_width": 16,
        "pcie_link_width_max": 16,
        "pcie_replays_total": 0,
    }
    cards = {
        bus: {
            **card,
            "uuid": f"GPU-{bus}",
            "processes": [{"pid": 7001 + index, "kind": "compute"}],
        }
        for index, bus in enumerate(AMD_CARDS)
    }
    return _other_vendor("amdgpu", cards)


def arc_cards() -> Tree:
    """Two cards of Intel that serve models, as xe shows them: no utilization, no processes."""
    card = {
        "name": "e20b",
        "vendor": "intel",
        "memory_total_bytes": 12 * GIB,
        "temperature_celsius": 61.0,
        "memory_temperature_celsius": 64.0,
        "thermal_margin_celsius": 44.0,
        "temperature_threshold_celsius": {"slowdown": 105, "shutdown": 110},
        "power_limit_watts": 190.0,
        "energy_joules_total": 1.2e7,
        "clock_hertz": {"graphics": 2.4e9},
        "clock_max_hertz": {"graphics": 2.85e9},
        "throttle_active": {"sw_power_cap": 1, "sw_thermal_slowdown": 0, "hw_thermal_slowdown": 0},
        "pcie_link_generation": 1,
        "pcie_link_generation_max": 1,
        "pcie_link_width": 1,
        "pcie_link_width_max": 1,
    }
    return _other_vendor("xe", {bus: {**card, "uuid": f"GPU-{bus}"} for bus in ("44", "c4")})


def npus() -> Tree:
    """Four 910B of Ascend at work, as npu-smi prints them."""
    card = {
        "name": "910B3",
        "vendor": "ascend",
        "memory_total_bytes": 64 * GIB,
        "memory_used_bytes": 51 * GIB,
        "utilization_percent": 82.0,
        "temperature_celsius": 56.0,
        "power_draw_watts": 290.0,
        "health": "ok",
    }
    buses = ("c1", "c2", "81", "82")
    cards = {
        bus: {
            **card,
            "uuid": f"GPU-{bus}",
            "processes": [{"pid": 7001 + index, "kind": "compute"}],
        }
        for index, bus in enumerate(buses)
    }
    return _other_vendor("npu-smi", cards)


# -- shared cards --------------------------------------------------------------------------------

TENANTS = {name: {"namespace": name, "pod": "serve-0", "container": "main"} for name in "ab"}


def shared_card() -> Tree:
    """One H100 that HAMi divides: two tenants, each with 20 GiB and 40 percent of the time."""
    node = trainer()
    workloads = node["Workloads"]
    workloads["shares"] = [{"gpu_uuid": "GPU-1b", "kind": "hami"}]
    del workloads["clients"]["4711"], workloads["uses"]["1b"]
    for number, (name, tenant) in enumerate(TENANTS.items()):
        pid = 5001 + number
        workloads["clients"][str(pid)] = client(pid, "1b", workload=tenant)
        workloads["uses"][name] = use(
            "1b",
            workload=tenant,
            memory_used_bytes=18 * GIB,
            sm_utilization_percent=38.0,
            quota_memory_bytes=20 * GIB,
            quota_sm_percent=40.0,
            quota_memory_excess_bytes=-2 * GIB - GIB // 2,
            quota_sm_excess_percent=-2.0,
        )
    node["Gpus"]["states"]["1b"]["gpu"]["processes"] = [
        {"pid": 5001, "kind": "compute"},
        {"pid": 5002, "kind": "compute"},
    ]
    return node


def holds(node: Story, tenant: str, gib: float) -> None:
    """A tenant holds so much memory of the shared card."""
    used = int(gib * GIB)
    excess = used - 20 * GIB - GIB // 2
    node.put("Workloads", "uses", tenant, memory_used_bytes=used, quota_memory_excess_bytes=excess)


def uses_time(node: Story, tenant: str, percent: float) -> None:
    """A tenant uses so much of the SM time of the shared card."""
    excess = percent - 40.0
    node.put(
        "Workloads",
        "uses",
        tenant,
        sm_utilization_percent=percent,
        quota_sm_excess_percent=excess,
    )
