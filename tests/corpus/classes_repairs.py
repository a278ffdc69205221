"""Classes of repairs that one source alone shows, and of failures that last until such a repair."""

from tests.corpus.eighth.nodes import cloud_volumes
from tests.corpus.labels import healthy, incident
from tests.corpus.machines import processors_only, trainer
from tests.corpus.parts import Tree
from tests.corpus.story import Story
from tests.corpus.words import FELL, GPU_AFTER, GSP, NOTHING, RESET, comes_up, goes_down

HOUR = 3600
FATAL_LINK = "NVLink: fatal error detected on link {}(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
UNCONTAINED = "Uncontained: FBHUB. RST: Yes, D-RST: No"


def _with_links() -> Tree:
    node = trainer()
    for state in node["Gpus"]["states"].values():
        state["gpu"]["nvlink_up"] = {str(link): 1 for link in range(6)}
    return node


def _fails(node: Story, bus: str, link: int) -> None:
    node.wait(300, 60)
    node.xid(bus, 74, FATAL_LINK.format(link))
    node.gpu(bus, nvlink_up={str(link): 0})
    node.wait(1800, 60)


@incident(
    "nvlink_fatal@0000:3b:00.0/4",
    may=(*GPU_AFTER, "nvlink_errors"),
    unfit=True,
    gone=("nvlink_fatal", "nvlink_down"),
    fit_at_end=True,
    node=_with_links,
)
def link_is_up_again_after_a_reset_that_nothing_else_shows(node: Story) -> None:
    """The driver reports no recovery action, and no counter fell: only the link is up again."""
    _fails(node, "3b", 4)
    node.gpu("3b", nvlink_up={"4": 1})
    node.wait(HOUR, 60)


@incident(
    "nvlink_fatal@0000:9b:00.0/1",
    may=(*GPU_AFTER, "nvlink_errors"),
    unfit=True,
    lasts=("nvlink_fatal",),
    fit_at_end=False,
    node=_with_links,
)
def link_stays_down_while_another_comes_back(node: Story) -> None:
    """A second link of the GPU that was down for a minute is trained; the broken one is not."""
    _fails(node, "9b", 1)
    node.gpu("9b", nvlink_up={"5": 0})
    node.wait(60)
    node.gpu("9b", nvlink_up={"5": 1})
    node.wait(HOUR, 60)


@incident(
    "nvlink_fatal@0000:bb:00.0/2",
    may=(*GPU_AFTER, "nvlink_errors", "telemetry_stale"),
    unfit=True,
    lasts=("nvlink_fatal",),
    fit_at_end=False,
    node=_with_links,
)
def cached_values_train_no_link(node: Story) -> None:
    """The GPUs are not read for two minutes; the link is as it was, up with a fatal error."""
    node.wait(300, 60)
    node.xid("bb", 74, FATAL_LINK.format(2))
    node.wait(600, 60)
    for bus in node.bus_addresses:
        node.state(bus, stale=True)
    node.wait(120, 15)
    for bus in node.bus_addresses:
        node.state(bus, stale=False)
    node.wait(HOUR, 60)


def _is_reset_in_the_log(node: Story, bus: str) -> None:
    node.wait(1800, 60)
    node.xid(bus, 154, NOTHING)
    node.wait(HOUR, 60)


@incident(
    "gpu_gsp_failure@GPU-3b",
    may=GPU_AFTER,
    unfit=True,
    gone=("gpu_gsp_failure", "gpu_recovery_required"),
    fit_at_end=True,
)
def firmware_runs_again_by_the_words_of_the_log(node: Story) -> None:
    """NVML of this driver knows no recovery action; the log says that none is needed any more."""
    node.gpus(recovery_action=None)
    node.wait(300, 60)
    node.xid("3b", 119, GSP)
    node.xid("3b", 154, RESET)
    _is_reset_in_the_log(node, "3b")


@incident(
    "gpu_memory_uncontained@GPU-9b",
    may=(*GPU_AFTER, "gpu_ecc_uncorrected"),
    unfit=True,
    gone=("gpu_memory_uncontained", "gpu_recovery_required"),
    fit_at_end=True,
)
def uncontained_error_is_over_by_the_words_of_the_log(node: Story) -> None:
    """The same after an error of memory."""
    node.gpus(recovery_action=None)
    node.wait(300, 60)
    node.xid("9b", 95, UNCONTAINED)
    node.xid("9b", 154, RESET)
    _is_reset_in_the_log(node, "9b")


@incident(
    "gpu_gsp_failure@GPU-1b",
    may=GPU_AFTER,
    unfit=True,
    lasts=("gpu_gsp_failure",),
    fit_at_end=False,
)
def reset_of_another_card_repairs_nothing_here(node: Story) -> None:
    """The firmware of one GPU is dead; the log takes back the wish of another one."""
    node.gpus(recovery_action=None)
    node.wait(300, 60)
    node.xid("1b", 119, GSP)
    node.xid("3b", 154, RESET)
    _is_reset_in_the_log(node, "3b")


def _gives_up(node: Story, driver: str, *lines: str) -> None:
    node.wait(300, 60)
    goes_down(node)
    node.log(*(f"{driver} 0000:5c:00.0 eth0: {line}" for line in lines))
    node.wait(2 * HOUR, 120)


@incident(
    "net_tx_timeout@eth0|nic_driver_fatal@eth0",
    may=("net_tx_timeout", "nic_driver_fatal", "net_link_down"),
    unfit=True,
    fit_at_end=False,
    node=processors_only,
)
def adapter_of_intel_cannot_be_recovered(node: Story) -> None:
    """A queue hangs once, and the driver says that the device is not to be recovered."""
    _gives_up(
        node,
        "i40e",
        "tx_timeout: VSI_seid: 390, Q 3, NTC: 0x11, HWB: 0x11, NTU: 0x14, TAIL: 0x14, INT: 0x1",
        "tx_timeout recovery unsuccessful, device is in non-recoverable state.",
    )


@incident(
    "net_tx_timeout@eth0|nic_driver_fatal@eth0",
    may=("net_tx_timeout", "nic_driver_fatal", "net_link_down", "net_link_flap"),
    unfit=True,
    gone=("nic_driver_fatal",),
    fit_at_end=True,
    node=processors_only,
)
def adapter_works_again_with_its_driver(node: Story) -> None:
    """The driver is unloaded and loaded, and the port has its link again."""
    _gives_up(node, "ice", "tx_timeout recovery unsuccessful, device is in unrecoverable state.")
    comes_up(node)
    node.wait(2 * HOUR, 120)


@incident(
    "net_tx_timeout@ens5|nic_driver_fatal@ens5",
    may=("net_tx_timeout", "nic_driver_fatal", "net_link_down"),
    unfit=True,
    fit_at_end=False,
    node=cloud_volumes,
)
def virtual_adapter_cannot_be_reset(node: Story) -> None:
    """The one attempt to reset an adapter of a guest fails."""
    node.wait(300, 60)
    node.log("ena 0000:00:05.0: Reset attempt failed. Can not reset the device")
    node.wait(2 * HOUR, 120)


@healthy(node=processors_only)
def adapter_of_intel_is_recovered_at_once(node: Story) -> None:
    """Nothing is given up: the driver reports a link that is back after its own test."""
    node.wait(300, 60)
    node.log("i40e 0000:5c:00.0 eth0: NIC Link is Up, 25 Gbps Full Duplex, Flow Control: None")
    node.wait(HOUR, 120)


@incident("gpu_lost@GPU-3b", may=GPU_AFTER, unfit=True, lasts=("gpu_lost",), fit_at_end=False)
def words_of_the_log_bring_no_lost_card_back(node: Story) -> None:
    """A GPU has fallen off the bus; that no action is wanted any more changes nothing."""
    node.wait(300, 60)
    node.xid("3b", 79, FELL)
    node.lose("3b")
    _is_reset_in_the_log(node, "3b")


CASES = (
    link_is_up_again_after_a_reset_that_nothing_else_shows,
    link_stays_down_while_another_comes_back,
    cached_values_train_no_link,
    firmware_runs_again_by_the_words_of_the_log,
    uncontained_error_is_over_by_the_words_of_the_log,
    reset_of_another_card_repairs_nothing_here,
    adapter_of_intel_cannot_be_recovered,
    adapter_works_again_with_its_driver,
    virtual_adapter_cannot_be_reset,
    adapter_of_intel_is_recovered_at_once,
    words_of_the_log_bring_no_lost_card_back,
)
