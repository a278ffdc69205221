"""A hundred thousand lines that mean nothing."""

import random

import pytest

from tests.collectors.kernel_log.feeding import pipeline, record

pytestmark = pytest.mark.slow

TEMPLATES = """
IPv6: ADDRCONF(NETDEV_CHANGE): {if}: link becomes ready
{if}: renamed from eth{n}
cni0: port {n}({if}) entered blocking state
cni0: port {n}({if}) entered forwarding state
device {if} entered promiscuous mode
{if} (unregistering): left allmulticast mode
nvme nvme{n}: {n}/0/0 default/read/poll queues
nvme nvme{n}: pci function {pci}
nvme{n}n1: p1 p2 p3
EXT4-fs ({disk}): unmounting filesystem {hex}.
XFS ({disk}): Mounting V5 Filesystem {hex}
BTRFS info (device {disk}): first mount of filesystem {hex}
pci {pci}: [10de:2330] type 00 class 0x030200 PCIe Endpoint
pci {pci}: BAR {n} [mem 0x{hex}-0x{hex} 64bit pref]: assigned
pci {pci}: PME# supported from D0 D3hot
pci {pci}: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)
pcieport {pci}: AER: enabled with IRQ {n}
pcieport {pci}: pciehp: Slot #{n} AttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug+ Surprise+
pcieport {pci}: DPC: enabled with IRQ {n}
mlx5_core {pci}: firmware version: {n}.39.1002
mlx5_core {pci}: Rate limit: 127 rates are supported, range: 0Mbps to 97656Mbps
mlx5_core {pci}: E-Switch: Total vports {n}, per vport: max uc(128) max mc(2048)
mlx5_core {pci} {if}: MLX5E: StrdRq(1) RqSz(8) StrdSz(2048) RxCqeCmprss(0 enhanced)
nvidia-nvswitch{n}: open (major=510)
nvidia-nvlink: Unregistered Nvlink Core, major device number {n}
nvidia {pci}: enabling device (0140 -> 0142)
NVRM: GPU {pci}: is not using the default channel count {n}
NVRM: Open nvidia.ko is only ready for use on Data Center GPUs.
EDAC MC{n}: Giving out device to module skx_edac controller Skylake Socket#{n} IMC#0: DEV {pci}
mce: CPU{n}: Thermal monitoring enabled (TM1)
mce: CPU supports {n} MCE banks
CPU{n}: Core power limit notification (total events = {n})
perf: interrupt took too long ({n} > 2500), lowering kernel.perf_event_max_sample_rate to 79500
clocksource: Switched to clocksource tsc
hrtimer: interrupt took {n} ns
rcu: Adjusting geometry for rcu_fanout_leaf=16, nr_cpu_ids={n}
NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.
workqueue: {comm} hogged CPU for >10000us {n} times, consider switching to WQ_UNBOUND
audit: type=1400 audit({n}.1:{n}): apparmor="DENIED" operation="open" comm="{comm}" pid={n}
audit: type=1701 audit({n}): auid=4294967295 pid={n} comm="{comm}" exe="/usr/bin/x" sig=11 res=1
oom_reaper: reaped process {n} ({comm}), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB
[{n}]  1000 {n}    12345     678   12345        0           985 {comm}
Mem-Info: active_anon:{n} inactive_anon:{n} isolated_anon:0
memory: usage {n}kB, limit {n}kB, failcnt {n}
CPU: {n} PID: {n} Comm: {comm} Tainted: P           OE      6.8.0-45-generic
RIP: 0010:native_safe_halt+0xb/0x10
Call Trace:
 <TASK>
 ? show_regs+0x6d/0x80
 __schedule+0x279/0x{hex}
Modules linked in: nvidia_uvm(POE) nvidia(POE) mlx5_core nvme xfs btrfs md_mod
loop{n}: detected capacity change from 0 to {n}
blk_update_request: operation not supported error, dev loop{n}, sector 0 op 0x9:(WRITE_ZEROES)
sd {n}:0:0:0: [{disk}] Write Protect is off
scsi {n}:0:0:0: Direct-Access     ATA      INTEL SSDSC2KB96 0132 PQ: 0 ANSI: 5
usb 1-{n}: new high-speed USB device number {n} using xhci_hcd
input: American Megatrends Inc. Virtual Keyboard and Mouse as /devices/pci0000:00/input{n}
systemd[1]: Started {comm}.
TCP: request_sock_TCP: Possible SYN flooding on port {n}. Sending cookies.
TCP: {if}: Driver has suspect GRO implementation, TCP performance may be compromised.
nf_conntrack: default automatic helper assignment has been turned off for security reasons
process '{comm}' launched '/bin/sh' with NULL argv: empty string added
overlayfs: upper fs does not support tmpfile.
overlayfs: "xino" feature enabled using 32 upper inode bits.
kauditd_printk_skb: {n} lines of audit printed
md/raid1:md{n}: active with 2 out of 2 mirrors
md{n}: detected capacity change from 0 to {n}
FS-Cache: Loaded
NFS: Registering the id_resolver key type
nfs4: Deprecated parameter 'intr'
ACPI: button: Power Button [PWRF]
thermal thermal_zone{n}: trip point {n} passed
power_meter ACPI000D:00: Found ACPI power meter.
igb {pci} {if}: added PHC on {if}
bond0: (slave {if}): Enslaving as a backup interface with an up link
ata{n}.00: configured for UDMA/133
ata{n}: SATA link up 6.0 Gbps (SStatus 133 SControl 300)
libceph: osd{n} (1)10.0.0.5:6801 socket closed (con state OPEN)
{comm} (pid {n}) is using deprecated setsockopt
BUG-hunting mode is off
INFO: task list of cpu {n} printed
Xid is a word in {comm}
"""

COMMS = ("trainer", "python3", "kworker/3:1", "nvidia-smi", "a: b", "Xid", "segfault", "oom-killer")


def noise(seed: int, count: int) -> list[str]:
    """Lines that real kernels write when nothing is wrong, with names and numbers that vary."""
    chance = random.Random(seed)  # noqa: S311 - test data
    templates = [line for line in TEMPLATES.splitlines() if line]
    return [_filled(chance.choice(templates), chance) for _ in range(count)]


def _filled(template: str, chance: random.Random) -> str:
    parts = {
        "{n}": str(chance.randrange(1, 100_000)),
        "{hex}": f"{chance.getrandbits(48):x}",
        "{pci}": f"0000:{chance.randrange(256):02x}:{chance.randrange(32):02x}.0",
        "{if}": chance.choice(("eth0", "ens1f0np0", "cali192c173bf63", "veth12ab", "ib0")),
        "{disk}": chance.choice(("sda1", "nvme0n1p1", "dm-0", "md127")),
        "{comm}": chance.choice(COMMS),
    }
    for name, value in parts.items():
        template = template.replace(name, value)
    return template


def test_a_hundred_thousand_unrelated_lines_give_no_event() -> None:
    """Nothing that a healthy node writes is taken for a fault."""
    taker = pipeline()
    for number, line in enumerate(noise(seed=1, count=100_000)):
        taker.take(record(line, sequence=number, stamp=number / 1000))
    taker.settle()
    assert taker.counters.ring.events() == ()
    assert (taker.counters.records, taker.counters.lost, taker.counters.suppressed) == (
        100_000,
        0,
        0,
    )
