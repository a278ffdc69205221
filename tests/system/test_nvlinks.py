"""The real program and NVLinks that break and are repaired, read by NVML as it ships."""

import re

import pytest

from exporter.collectors.gpu.repairs import TRAINED_SECS
from tests.fakes.kmsg import KernelLog
from tests.gpu_node import CAPTURE, GpuNode
from tests.program import PATIENCE_SECS, Program, wait_for

RULE = "nvlink_down"
FATAL = "NVLink: fatal error detected on link 3(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
LINK = "0000:3a:00.0/3"
ALL = tuple(range(8))
LINKS = 8 * 18
BROKEN = {
    "one_link": (("device.2.nvlink.3.state = 0",), {"GPU 2": "3"}),
    "all_of_an_idle_gpu": (("device.5.nvlink.state = 0",), {"GPU 5": "0-17"}),
    "all_of_a_busy_gpu": (("device.0.nvlink.state = 0",), {"GPU 0": "0-17"}),
    "the_same_on_all": (("nvlink.7.state = 0",), {f"GPU {n}": "7" for n in ALL}),
}


def _down(program: Program) -> dict[str, str]:
    """The links that the rule names, by GPU, on a node that is not healthy.

    Each fault is a root, or stands for the same fault of most GPUs.
    """
    document = program.get("/faults").document
    active = [fault for fault in document["faults"] if fault["state"] == "active"]
    faults = [it for it in active if it["rule"] == RULE and it["entity"]["hw_type"] == "gpu"]
    is_of_all = len(faults) == len(ALL)
    assert all(fault["root"] is not is_of_all and not document["healthy"] for fault in faults)
    said = {fault["entity"]["hw_name"]: fault["summary"] for fault in faults}
    assert all(text.startswith(f"NVLinks of {name} are down: link ") for name, text in said.items())
    return {name: text.partition(": link ")[2] for name, text in said.items()}


def _wait_for(program: Program, links: dict[str, str]) -> None:
    wait_for(lambda: _down(program) == links, f"the faults {links}")
    page = program.get("/metrics").text
    assert f'hw_node_healthy{{node="{_node(page)}"}} {int(not links)}\n' in page
    assert page.count(f'fault="{RULE}"') >= len(links)
    inactive = dict.fromkeys(links, 0)
    for gpu in re.findall(r'hw_gpu_nvlink_inactive\{.*gpu_index="(\d+)"', page):
        inactive[f"GPU {gpu}"] += 1
    assert inactive == {name: _count(text) for name, text in links.items()}
    active = re.findall(r"hw_gpu_nvlink_active_links\{.*\} (\d+)", page)
    assert sum(map(int, active)) + sum(inactive.values()) == LINKS


def _node(page: str) -> str:
    found = re.search(r'node="([^"]+)"', page)
    assert found
    return found[1]


def _count(links: str) -> int:
    ends = [[int(end) for end in run.split("-")] for run in links.split(", ")]
    return sum(run[-1] - run[0] + 1 for run in ends)


@pytest.mark.parametrize(
    ("broken", "per_link"), [*((each, False) for each in BROKEN), ("one_link", True)]
)
def test_a_link_that_is_down_since_the_start(node: GpuNode, broken: str, *, per_link: bool) -> None:
    """The first look is enough: GPU and link are named, and the node is not healthy."""
    lines, links = BROKEN[broken]
    node.nvml.say(*lines, capture=CAPTURE)
    with node.start(nvlink_per_link=per_link) as program:
        program.page_with('backend="nvml",reason="ok"')
        _wait_for(program, links)
        page = program.get("/metrics").text
        assert page.count("\nhw_gpu_nvlink_up{") == (LINKS if per_link else 0)


def _fatal(program: Program) -> list[bool]:
    """Whether each active fault of the link is a root; an inactive link beside it is none."""
    faults = program.get("/faults").document["faults"]
    active = [fault for fault in faults if fault["state"] == "active"]
    found = [it for it in active if it["rule"] == "nvlink_fatal"]
    assert {fault["entity"]["hw_id"] for fault in found} <= {LINK}
    assert not (found and any(it["root"] for it in active if it["rule"] == RULE))
    return [fault["root"] for fault in found]


def test_a_link_that_failed_is_well_when_it_is_up(node: GpuNode, kernel_log: KernelLog) -> None:
    """A fault ends when its link has been up for a minute; the same error begins it anew."""
    node.sections["kernel_log"] = {"enabled": True, "path": str(kernel_log.path)}
    with node.start() as program:
        program.page_with('backend="nvml",reason="ok"')
        for is_again in (False, True):
            node.nvml.say(*BROKEN["one_link"][0], capture=CAPTURE)
            wait_for(lambda: _down_links(program) == 1, "the link to be down")
            kernel_log.say(
                f"NVRM: Xid (PCI:0000:3a:00): 74, pid='<unknown>', name=<unknown>, {FATAL}"
            )
            wait_for(lambda: _fatal(program) == [True], "the fault")
            if not is_again:
                node.nvml.say(capture=CAPTURE)
                wait_for(
                    lambda: _fatal(program) == [], "the end", secs=TRAINED_SECS + PATIENCE_SECS
                )


def _down_links(program: Program) -> int:
    return program.get("/metrics").text.count("\nhw_gpu_nvlink_inactive{")
