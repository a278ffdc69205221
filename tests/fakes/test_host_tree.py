"""The invented host trees are shaped like the real ones."""

from pathlib import Path

from tests.fakes import host_proc
from tests.fakes.host_tree import cpu_node, gpu_node
from tests.fakes.nvml_library import CAPTURES


def test_every_link_leads_somewhere(tmp_path: Path) -> None:
    """Links of a tree stay inside it and end at a directory of it."""
    for tree in (cpu_node(tmp_path / "cpu"), gpu_node(tmp_path / "gpu")):
        links = [path for path in tree.folder.rglob("*") if path.is_symlink()]
        assert links
        for link in links:
            assert link.resolve().is_relative_to(tree.folder.resolve()), link
            assert link.is_dir(), link


def test_gpus_are_where_the_capture_has_them(tmp_path: Path) -> None:
    """The PCI addresses of the GPU node are the bus ids of the eight H100 of the capture."""
    tree = gpu_node(tmp_path)
    lines = (CAPTURES / "h100x8.scenario").read_text().splitlines()
    ids = [line.split("= ")[1] for line in lines if line.startswith("device.") and "bus_id" in line]
    assert len(ids) == 8
    for bus_id in ids:
        folder = tree.sys / "bus/pci/devices" / bus_id.removeprefix("0000").lower()
        assert (folder / "vendor").read_text() == "0x10de\n"
        above = folder.resolve().parent
        assert (above / "class").read_text() == "0x060400\n"


def test_a_card_and_its_neighbour_share_a_switch(tmp_path: Path) -> None:
    """A GPU and its InfiniBand port meet at the same upstream port."""
    tree = gpu_node(tmp_path)
    gpu = (tree.sys / "bus/pci/devices/0000:18:00.0").resolve()
    card = (tree.sys / "class/infiniband/mlx5_0/device").resolve()
    assert card.name == "0000:19:00.0"
    assert gpu.parent.parent == card.parent.parent


def test_a_process_has_the_fields_of_a_real_one() -> None:
    """The invented /proc/PID/stat has as many fields as the running kernel's."""
    real = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    assert len(host_proc.process_stat(7, "a b").rpartition(")")[2].split()) == len(real)
