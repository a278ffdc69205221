"""Device patterns: what is left out, what is shown all the same, and at what cost."""

import time

import pytest

from exporter.config import Devices
from exporter.reading.device_filter import shown

DEVICES = Devices()


@pytest.mark.parametrize(
    "name", ["lo", "veth1a2b", "cali0", "cni0", "flannel.1", "docker0", "br-1f", "tap0", "ifb1",
             "dummy0", "cilium_host", "lxc12"],
)  # fmt: skip
def test_virtual_interfaces_are_left_out(name: str) -> None:
    """Those of pods, bridges and tunnels would be many and say nothing about hardware."""
    assert not shown(DEVICES.network_exclude, ())(name)


@pytest.mark.parametrize("name", ["eth0", "ens1f0np0", "enp3s0", "ib0", "bond0", "br0", "wlan0"])
def test_real_interfaces_are_shown(name: str) -> None:
    """Bonds and plain bridges carry the node's own traffic."""
    assert shown(DEVICES.network_exclude, ())(name)


def test_include_wins_over_exclude() -> None:
    """So «exclude everything but this» can be said."""
    is_shown = shown(("*",), ("eth?", "ib[01]"))
    assert [is_shown(name) for name in ("eth0", "ib1", "ib2", "eth10")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_the_empty_lists_show_everything() -> None:
    """Nothing excluded is nothing left out, the empty name too."""
    assert shown((), ())("veth0")
    assert shown((), ())("")


def test_no_pattern_takes_time_that_explodes() -> None:
    """A name of 10,000 characters is judged at once, however the pattern is written."""
    is_shown = shown(("a*" * 60 + "b",), ())
    started = time.thread_time()  # the processor's time: other work on the machine is not ours
    assert is_shown("a" * 10_000)
    assert time.thread_time() - started < 5.0
