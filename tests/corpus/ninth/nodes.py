"""Nodes of the ninth batch, and what happens on many of them in the same way."""

from collections.abc import Callable, Mapping

from tests.corpus.eighth.nodes import in_a_cloud
from tests.corpus.fifth.nodes import links, with_cards
from tests.corpus.machines import processors_only
from tests.corpus.parts import GIB, Tree, disk, filesystem, ib_port, nic, pcie_device, sensor
from tests.corpus.seventh.nodes import (
    EIGHT,
    GDDR_LACKS,
    bus,
    clocks,
    memory,
    mi300s,
    power,
)
from tests.corpus.story import Story

HOUR = 3600
DELTA = {"07": "05", "46": "45", "85": "84", "c7": "c6"}
PAIR = {"31": "30", "ca": "c9"}
LAPTOP = {"01": "00"}
SCRATCH = "192.0.2.71@o2ib:/scratch"
DRAM_ROW = "Row Remapper: New row (0x{:016x}) marked for remapping, reset gpu to activate."
TEARDOWN = "Ch {:08x}, errorString CTX SWITCH TIMEOUT, Info 0x3c01c"


def delta_a100s() -> Tree:
    """Four A100 of 40 GiB, linked to each other directly; Lustre over InfiniBand; driver 535."""
    node = with_cards(
        DELTA,
        "535.154.05",
        "12.2",
        ("fabric", "thermal_margin", "recovery_action", "sram_threshold"),
        name="NVIDIA A100-SXM4-40GB",
        architecture="ampere",
        **memory(40, 31),
        **power(400.0, 100.0, 318.0),
        **clocks(1.38e9, 1.41e9, 1.215e9),
        **bus(4),
        nvlink_up=links(12),
        temperature_celsius=54.0,
        memory_temperature_celsius=61.0,
    )
    node["Host"] |= {"cpu_model": "AMD EPYC 7763", "kernel_version": "4.18.0-477.el8"}
    port = ib_port("mlx5_0", "0000:ca:00.0", rate_bytes_per_second=25e9, link_was_up=True)
    node["Infiniband"] = {"ports": {"mlx5_0": port}}
    scratch = filesystem(SCRATCH, "/scratch", "lustre", size_bytes=6 * 10**15)
    scratch |= {"free_bytes": 2 * 10**15, "available_bytes": 2 * 10**15}
    node["Filesystems"]["filesystems"]["/scratch"] = scratch
    return node


def a40s() -> Tree:
    """Two A40 boards in a server for drawing and for models, driver 550."""
    return with_cards(
        PAIR,
        "550.144.03",
        "12.4",
        GDDR_LACKS,
        name="NVIDIA A40",
        architecture="ampere",
        **memory(45, 36),
        **power(300.0, 100.0, 271.0),
        **clocks(1.635e9, 1.74e9, 7.251e9),
        **bus(4),
        temperature_celsius=68.0,
        temperature_threshold_celsius={"shutdown": 98, "slowdown": 95, "max_operating": 88},
    )


def roce_box() -> Tree:
    """Eight H100 SXM whose fabric is Ethernet: eight RoCE ports, driver 550."""
    node = with_cards(EIGHT, "550.127.08", "12.4", (), nvlink_up=links(18))
    node["Host"] |= {"cpu_model": "Xeon 8480+", "kernel_version": "5.14.0-427.el9"}
    ports, devices = {}, node["Pcie"]["devices"]
    for number, low in enumerate(EIGHT):
        name = f"mlx5_{number}"
        address = f"0000:{int(low, 16) + 1:02x}:00.0"
        devices[f"rdma {number}"] = pcie_device(address, "network")
        ports[name] = ib_port(
            name,
            address,
            link_layer="Ethernet",
            errors={"symbol_error": 0, "port_rcv_errors": 0, "port_xmit_discards": 0},
            events=dict.fromkeys(
                (
                    *("local_ack_timeout_err", "rnr_nak_retry_err", "roce_slow_restart"),
                    *("out_of_sequence", "np_cnp_sent", "rp_cnp_handled"),
                ),
                0,
            ),
            link_was_up=True,
            peers_up=7,
        )
        node["Network"]["interfaces"][f"rdma{number}"] = nic(
            f"rdma{number}", pci_bus_id=address, speed_bytes_per_second=50e9
        )
    node["Infiniband"] = {"ports": ports}
    return node


def b300s() -> Tree:
    """Eight B300 with NVLink of the fifth generation, driver 580."""
    node = with_cards(
        EIGHT,
        "580.105.08",
        "13.0",
        (),
        name="NVIDIA B300 SXM6 AC",
        architecture="blackwell",
        **memory(268, 241),
        **power(1100.0, 200.0, 890.0),
        nvlink_up=links(18),
    )
    node["Host"] |= {"cpu_model": "Xeon 6776P", "kernel_version": "6.8.0-1036-nvidia"}
    return node


def h100_slices() -> Tree:
    """Two H100 boards cut into slices for notebooks, driver 550."""
    node = with_cards(
        PAIR,
        "550.163.01",
        "12.4",
        ("fabric", "nvlink"),
        name="NVIDIA H100 PCIe",
        **memory(80, 41),
        **power(350.0, 200.0, 190.0),
        **clocks(1.62e9, 1.755e9, 1.593e9),
        mig_enabled=True,
        mig_mode_pending=True,
        utilization_percent=None,
        memory_controller_utilization_percent=None,
    )
    for low, state in node["Gpus"]["states"].items():
        state["gpu"]["mig_instances"] = [
            {
                "gpu_instance": 7 + number,
                "compute_instance": 0,
                "mig_uuid": f"MIG-{low}-{number}",
                "profile": "1g.10gb",
                "memory_total_bytes": 10 * GIB,
                "memory_used_bytes": 6 * GIB,
            }
            for number in range(7)
        ]
    return node


def cloud_h100s() -> Tree:
    """A guest of a cloud with eight H100, driver 550; no sensors and no memory controllers."""
    node = in_a_cloud(with_cards(EIGHT, "550.163.01", "12.4", (), nvlink_up=links(18)))
    node["Network"]["interfaces"] = {
        "enp71s0": nic("enp71s0", driver="ena", mtu=9001, pci_bus_id="0000:47:00.0")
    }
    return node


def mi250s() -> Tree:
    """Eight halves of MI250X with the driver of ROCm 6.2, on an EPYC board."""
    node = mi300s()
    for state in node["Gpus"]["states"].values():
        state["gpu"] |= {
            "name": "AMD Instinct MI250X",
            "architecture": "gfx90a",
            **memory(64, 48),
            **power(560.0, 0.0, 260.0),
            "clock_hertz": {"graphics": 1.6e9, "memory": 1.6e9},
        }
    node["Gpus"]["others"]["amdgpu"]["driver_version"] = "6.8.5"
    return node


def laptop() -> Tree:
    """A laptop with a GeForce of its own and one disk; no pod, no server chips."""
    node = with_cards(
        LAPTOP,
        "570.169",
        "12.8",
        (
            *GDDR_LACKS,
            *("ecc_errors", "remapped_rows", "row_remap", "ecc_enabled"),
            *("fan_speed", "power_limit_range"),
        ),
        name="NVIDIA GeForce RTX 4070 Laptop GPU",
        architecture="ada",
        **memory(8, 2),
        power_limit_watts=80.0,
        power_draw_watts=12.0,
        power_average_watts=12.0,
        temperature_celsius=47.0,
        utilization_percent=4.0,
        memory_controller_utilization_percent=2.0,
        performance_state=8,
        persistence_mode=False,
        **clocks(2.1e8, 3.105e9, 8.001e9),
        throttle_active={"gpu_idle": 1},
        pcie_link_generation=1,
        pcie_link_generation_max=4,
        pcie_link_width=8,
        pcie_link_width_max=8,
        processes=[{"pid": 2210, "kind": "graphics"}],
    )
    node["Workloads"] = {"reason": "ok", "clients": {}, "uses": {}, "totals": []}
    for gone in ("MemoryErrors", "Sensors"):
        del node[gone]
    node["Host"] |= {"cpu_model": "Intel Core Ultra 7 155H", "kernel_version": "6.14.5"}
    node["Memory"] |= {"total_bytes": 32 * GIB, "available_bytes": 19 * GIB}
    node["Memory"] |= {"free_bytes": 3 * GIB, "swap_total_bytes": 8 * GIB}
    node["Memory"] |= {"swap_free_bytes": 7 * GIB}
    node["Network"]["interfaces"] = {
        "wlp0s20f3": nic(
            "wlp0s20f3", driver="iwlwifi", mtu=1500, pci_bus_id="0000:00:14.3", carrier_changes=5
        )
    }
    del node["Disks"]["disks"]["nvme1n1"]
    del node["NvmeControllers"]["controllers"]["nvme1"]
    del node["NvmeHealths"]["controllers"]["nvme1"]
    node["Filesystems"]["filesystems"] = {
        "/": filesystem("/dev/nvme0n1p3", "/", "btrfs", files=None, files_free=None)
    }
    del node["Pcie"]["devices"]["5f"]
    return node


def hpc_worker() -> Tree:
    """A worker of a cluster without cards: two EPYC, HDR InfiniBand, Lustre and NFS."""
    node = processors_only()
    node["Host"] |= {"cpu_model": "AMD EPYC 7742", "kernel_version": "4.18.0-513.el8"}
    node["Cpu"] |= {"cores": 128, "threads": 128, "usage_percent": 92.0, "used_cores": 118.0}
    port = ib_port("mlx5_0", "0000:ca:00.0", rate_bytes_per_second=25e9, link_was_up=True)
    node["Infiniband"] = {"ports": {"mlx5_0": port}}
    node["Filesystems"]["filesystems"]["/scratch"] = filesystem(SCRATCH, "/scratch", "lustre")
    for number in (1, 2):
        place = {"hw_id": f"pmbus-{number}", "hw_name": "pmbus", "alarm": False}
        node["Sensors"]["sensors"][f"psu{number}"] = sensor("power", "pin", 330.0, **place)
    return node


def object_store() -> Tree:
    """A server of an object store: twelve SAS disks behind one adapter, two bonded ports."""
    node = processors_only()
    node["Host"] |= {"cpu_model": "AMD EPYC 9354P", "kernel_version": "5.15.0-119"}
    for target in range(12):
        name = f"sd{'abcdefghijkl'[target]}"
        node["Disks"]["disks"][name] = disk(
            name,
            transport="sas",
            rotational=True,
            scsi_address=f"12:0:{target}:0",
            scsi_state="running",
            size_bytes=20_000_588_955_648,
        )
        mount = f"/srv/osd{target}"
        node["Filesystems"]["filesystems"][mount] = filesystem(f"/dev/{name}", mount, "xfs")
    node["Network"]["interfaces"] = {
        "bond0": nic("bond0", driver="bonding", pci_bus_id=None),
        **{
            f"enp65s0f{n}": nic(f"enp65s0f{n}", driver="bnxt_en", pci_bus_id=f"0000:41:00.{n}")
            for n in (0, 1)
        },
    }
    return node


def waits(node: Story, *buses: str, watts: float = 135.0) -> None:
    """These cards wait in a collective for a peer: busy by the count, without traffic or heat."""
    for bus_ in buses or node.bus_addresses:
        node.gpu(bus_, utilization_percent=100.0, memory_controller_utilization_percent=0.0)
        node.gpu(bus_, power_draw_watts=watts, power_average_watts=watts, temperature_celsius=44.0)
        node.gpu(bus_, memory_temperature_celsius=51.0)


def works(node: Story, *buses: str, watts: float = 560.0, heat: float = 62.0) -> None:
    """These cards compute again."""
    for bus_ in buses or node.bus_addresses:
        node.gpu(bus_, utilization_percent=97.0, memory_controller_utilization_percent=45.0)
        node.gpu(bus_, power_draw_watts=watts, power_average_watts=watts, temperature_celsius=heat)


def others(node: Story, bus_: str) -> tuple[str, ...]:
    """All cards but this one."""
    return tuple(each for each in node.bus_addresses if each != bus_)


def with_past(machine: Callable[[], Tree], bus_: str, **fields: object) -> Callable[[], Tree]:
    """Build this machine, with one card that remembers what happened to it before the load."""

    def build() -> Tree:
        node = machine()
        card = node["Gpus"]["states"][bus_]["gpu"]
        for name, value in fields.items():
            card[name] = {**card[name], **value} if isinstance(value, Mapping) else value
        return node

    return build


def releases(node: Story, secs: int) -> None:
    """The exporter lets go of all cards for so long, as a script asks that will reset some."""
    node.put("Gpus", releases=1)
    for bus_ in node.bus_addresses:
        node.state(bus_, suspended=True, stale=True)
    node.wait(secs, 5)
    for bus_ in node.bus_addresses:
        node.state(bus_, suspended=False, stale=False)


def is_reset(node: Story, bus_: str) -> None:
    """One card is reset by nvidia-smi; what it says afterwards is up to the story."""
    releases(node, 15)
    node.gpu(bus_, recovery_action="none", clock_hertz={"graphics": 3.45e8, "sm": 3.45e8})
    node.gpu(bus_, processes=[], utilization_percent=0.0, temperature_celsius=35.0)
