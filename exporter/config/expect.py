"""Settings of the expected hardware of a node."""

from exporter.config.setting import setting
from exporter.record import dataclass

SLOT = r"(gpu|nvlink|port|disk|dimm) [\w.:/#-][\w.:/# -]{0,80}"


@dataclass(frozen=True, slots=True)
class Expect:
    """Expected hardware: less than this is a fault; 0 or empty expects nothing (docs/expect.md)."""

    learn: bool = setting(
        False, "Learn the hardware at the first healthy look, and keep it in state.dir."
    )
    labels_file: str = setting(
        "", 'File with labels of the node: lines such as expect.hw-exporter/gpus="8".'
    )
    gpus: int = setting(0, "GPUs of the node.", at_least=0, at_most=1000)
    gpu_model: str = setting("", "Part of the name of every GPU, such as H100.")
    nvlinks: int = setting(0, "Active NVLinks of each GPU.", at_least=0, at_most=1000)
    ports: int = setting(0, "InfiniBand and RoCE ports.", at_least=0, at_most=1000)
    port_rate_gbit: float = setting(
        0.0, "Rate of every active port in Gbit/s.", at_least=0, at_most=100_000
    )
    disks: int = setting(
        0, "Disks (NVMe, SATA, SAS), without removable ones.", at_least=0, at_most=1000
    )
    dimms: int = setting(
        0, "Memory modules; needs an EDAC driver of the kernel.", at_least=0, at_most=1000
    )
    memory_gib: float = setting(
        0.0, "Installed memory in GiB; 5 % less is no fault.", at_least=0, at_most=1_000_000
    )
    slots: tuple[str, ...] = setting(
        (),
        "Components by name, such as 'gpu 0000:18:00.0' or 'disk nvme0n1'.",
        each_like=(SLOT, "a component such as 'gpu 0000:18:00.0' or 'nvlink 0000:18:00.0/3'"),
    )

    @property
    def is_on(self) -> bool:
        """Whether any hardware is expected or may be learned."""
        return self != Expect()
