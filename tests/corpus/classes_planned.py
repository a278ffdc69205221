"""Classes of what looks like a failure and was asked for, or harms nobody: removals, warm disks."""

from tests.corpus.eighth.nodes import cloud_volumes
from tests.corpus.labels import healthy, incident
from tests.corpus.machines import processors_only
from tests.corpus.parts import Tree, nic, pcie_device, sensor
from tests.corpus.story import Story


def _guest(driver: str) -> Tree:
    """A guest of a cloud with two virtual adapters of this driver."""
    node = cloud_volumes()
    node["Network"]["interfaces"] = {}
    node["Pcie"] = {"devices": {}}
    for number in (5, 6):
        address = f"0000:00:{number:02}.0"
        name = f"ens{number}"
        node["Network"]["interfaces"][name] = nic(name, driver=driver, pci_bus_id=address)
        card = pcie_device(address, "network", driver=driver)
        node["Pcie"]["devices"][address] = card
    return node


def _second_adapter_is_taken(node: Story) -> None:
    node.wait(300, 60)
    node.put("Network", "interfaces", ens6=None)
    node.put("Pcie", "devices", **{"0000:00:06.0": None})
    node.wait(3600, 60)


@healthy(node=lambda: _guest("ena"))
def address_plugin_gives_an_adapter_back(node: Story) -> None:
    """Pods have left; the plugin of the cloud detaches the second adapter of the guest."""
    _second_adapter_is_taken(node)


@healthy(node=lambda: _guest("virtio-pci"))
def hypervisor_takes_an_adapter_away(node: Story) -> None:
    """An adapter is unplugged from a running guest."""
    _second_adapter_is_taken(node)


@incident("pcie_network_card_missing@node", unfit=True, fit_at_end=False)
def real_card_disappears_beside_its_twin(node: Story) -> None:
    """A card of two is not on the bus any more, and nobody asked for it."""
    node.put("Pcie", "devices", "ca", driver="mlx5_core")
    node.put("Pcie", "devices", "cb", driver="mlx5_core")
    node.wait(300, 60)
    node.put("Pcie", "devices", cb=None)
    node.wait(3600, 60)


@healthy(never=("pcie_network_card_missing", "pcie_link_down"), node=processors_only)
def card_is_taken_out_by_its_button(node: Story) -> None:
    """A spare network card is powered off by the button of its slot."""
    node.wait(300, 60)
    node.log("pcieport 0000:17:01.0: pciehp: Slot(4): Attention button pressed")
    node.log("pcieport 0000:17:01.0: pciehp: Slot(4): Powering off due to button press")
    node.wait(8, 4)
    node.put("Pcie", "devices", cb=None)
    node.wait(3600, 60)


def _is_at(node: Story, celsius: float, *, critical_warning: int) -> None:
    node.put("Sensors", "sensors", "nvme1", value=celsius)
    more = {"temperature_celsius": celsius, "critical_warning": critical_warning}
    node.put("NvmeHealths", "controllers", "nvme1", **more)


@healthy(node=processors_only)
def card_and_disk_are_given_to_a_guest(node: Story) -> None:
    """A network card and a disk are bound to vfio-pci: they are on the bus as before."""
    node.put("Pcie", "devices", "cb", driver="mlx5_core")
    node.put("Pcie", "devices", "5f", driver="nvme")
    node.wait(300, 60)
    node.put("Filesystems", "filesystems", **{"/data": None})
    node.put("Disks", "disks", nvme1n1=None)
    node.put("NvmeControllers", "controllers", nvme1=None)
    node.put("NvmeHealths", "controllers", nvme1=None)
    node.put("Pcie", "devices", "cb", driver="vfio-pci")
    node.put("Pcie", "devices", "5f", driver="vfio-pci")
    node.wait(3600, 60)


@incident(
    "nvme_overheat@nvme1n1|nvme_warns@nvme1n1",
    may=("nvme_overheat", "nvme_warns"),
    unfit=False,
    gone=("nvme_overheat", "nvme_warns"),
    fit_at_end=True,
)
def disk_says_only_that_it_is_warm(node: Story) -> None:
    """A disk is above its warning temperature for an hour of checkpoints, and works."""
    composite = sensor("temperature", "Composite", 62.0, hw_id="nvme1", hw_name="nvme")
    composite["limits"] = {"high.degraded": 75.0, "high.critical": 82.0}
    node.put("Sensors", "sensors", nvme1=composite)
    node.wait(300, 60)
    _is_at(node, 77.0, critical_warning=2)
    node.wait(3600, 60)
    _is_at(node, 60.0, critical_warning=0)
    node.wait(1200, 60)


@incident("nvme_warns@nvme1n1", may=("nvme_overheat",), unfit=True, fit_at_end=False)
def warm_disk_is_unreliable_too(node: Story) -> None:
    """Besides its temperature a disk reports that its medium is degraded."""
    node.wait(300, 60)
    node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=77.0, critical_warning=6)
    node.wait(1800, 60)


CASES = (
    address_plugin_gives_an_adapter_back,
    hypervisor_takes_an_adapter_away,
    real_card_disappears_beside_its_twin,
    card_is_taken_out_by_its_button,
    card_and_disk_are_given_to_a_guest,
    disk_says_only_that_it_is_warm,
    warm_disk_is_unreliable_too,
)
