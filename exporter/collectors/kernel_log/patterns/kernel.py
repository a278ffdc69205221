"""Lines about the kernel itself: lockups, stalls, panics, limits, and lines that it left out.

Layouts are those of kernel/watchdog.c, kernel/rcu/tree_stall.h, kernel/panic.c, mm/page_alloc.c,
kernel/time/clocksource.c, net/netfilter and arch/x86 from 3.10 to 6.18.
"""

from exporter.collectors.kernel_log.patterns.pattern import (
    Chosen,
    LinePattern,
    Role,
    on,
    on_node,
    rx,
)

CPU = on("cpu", "cpu")

_OOPS = (
    r"BUG: unable to handle |BUG: kernel NULL pointer dereference"
    r"|kernel BUG at [\w./+-]{1,200}:\d{1,6}!|Unable to handle kernel |Internal error: Oops"
    r"|Internal error: [\w ,()-]{1,80}: [0-9a-f]{8,16} \[#\d"
)
_TRAP = (
    r"(?:Oops|divide error|general protection fault[\w ,-]{0,90}|invalid opcode|int3|stack segment"
    r"|segment not present|invalid TSS|double fault|alignment check|page fault|bounds|overflow"
    r"|simd exception|(?:kernel )?stack guard page)"
)
# What follows tells the kernel's own line from one that starts with a process of such a name.
_TRAP_END = r"(?:$| [A-Z])"

_STALLS = (
    LinePattern(
        "soft_lockup",
        "soft lockup",
        rx(
            r"(?:(?:NMI )?watchdog: )?BUG: soft lockup - CPU#(?P<cpu>\d{1,5}) stuck for "
            r"(?P<seconds>\d{1,8})s! \[(?P<name>@COMM@):(?P<pid>\d{1,10})\]"
        ),
        CPU,
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "hard_lockup",
        "hard LOCKUP",
        rx(
            r"(?:NMI )?(?:watchdog: )?(?:CPU\d{1,5}: )?Watchdog detected hard LOCKUP on cpu "
            r"(?P<cpu>\d{1,5})"
        ),
        CPU,
    ),
    LinePattern(
        "rcu_stall",
        "INFO: rcu",
        rx(
            r"(?:rcu: )?INFO: (?P<flavour>rcu\w{1,20}) (?:self-detected stall on CPU"
            r"|detected (?:expedited )?stalls on (?:CPUs/)?tasks:)"
        ),
        on_node,
    ),
    LinePattern(
        "workqueue_lockup",
        "workqueue lockup",
        rx(
            r"BUG: workqueue lockup - pool (?P<pool>cpus=[\d,-]{1,64}(?: node=\d{1,4})? "
            r"flags=0x[0-9a-f]{1,8}(?: nice=-?\d{1,3}| bh\w{0,8})?) "
            r"stuck for (?P<seconds>\d{1,8})s!"
        ),
        on_node,
    ),
)

_KERNEL = (
    LinePattern(
        "kernel_panic",
        "Kernel panic",
        rx(r"Kernel panic - not syncing(?:: (?P<text>.*))?"),
        on_node,
    ),
    LinePattern("kernel_oops", "BUG", rx(rf"(?P<text>(?:{_OOPS}).*)"), on_node),
    LinePattern("kernel_oops", "ernal error", rx(rf"(?P<text>(?:{_OOPS}).*)"), on_node),
    LinePattern("kernel_oops", "Unable to handle", rx(rf"(?P<text>(?:{_OOPS}).*)"), on_node),
    LinePattern(
        "kernel_oops",
        "[#",
        rx(rf"(?P<text>(?:Oops: )?{_TRAP}: [0-9a-f]{{4}} \[#\d{{1,4}}\]){_TRAP_END}"),
        on_node,
    ),
    # A thread of ZFS or Lustre stops there, with the locks that it holds.
    LinePattern(
        "kernel_oops",
        "PANIC at ",
        rx(r"(?P<text>PANIC at \w[\w.-]{0,60}\.[ch]:\d{1,6}:\w{1,64}\(\))\s*$"),
        on_node,
    ),
    LinePattern(
        "kernel_oops",
        "PANIC: ",
        rx(
            r"(?P<text>PANIC: (?:blkptr at [0-9a-f]{8,16} |zfs: adding existent segment to |"
            r"zfs: removing nonexistent segment from ).{0,200})"
        ),
        on_node,
    ),
    LinePattern(
        "kernel_oops",
        " LBUG",
        rx(
            r"(?:Lustre|LNet)(?:Error)?: (?P<text>\d{1,10}:\d{1,5}:"
            r"\([\w.-]{1,60}:\d{1,6}:\w{1,80}\(\)\) LBUG)\s*$"
        ),
        on_node,
    ),
    LinePattern(
        "file_max", "file-max", rx(r"VFS: file-max limit (?P<limit>\d{1,20}) reached"), on_node
    ),
    LinePattern(
        "netdev_unregister_wait",
        "unregister_netdevice",
        rx(
            r"unregister_netdevice: waiting for (?P<interface>\S{1,16}) to become free\."
            r"(?: Usage count = (?P<count>-?\d+))?"
        ),
        on("network", "interface"),
        chosen=(Chosen.INTERFACE,),
    ),
    LinePattern(
        "cpu_thermal",
        "above threshold",
        rx(
            r"(?:mce: )?CPU(?P<cpu>\d{1,5}): (?P<level>Package|Core) temperature (?:is )?above "
            r"threshold, cpu clock (?:is )?throttled(?: \(total events = (?P<total>\d+)\))?"
        ),
        CPU,
    ),
    LinePattern(
        "cpu_thermal",
        "temperature/speed normal",
        rx(r"(?:mce: )?CPU(?P<cpu>\d{1,5}): (?P<level>Package|Core) temperature/speed normal"),
        CPU,
        role=Role.ENDED,
    ),
)

_DROPPED = (
    LinePattern(
        "",
        "callbacks suppressed",
        rx(r"[\w./-]{1,64}: (?P<count>\d{1,9}) callbacks suppressed"),
        on_node,
        role=Role.DROPPED,
    ),
    LinePattern(
        "",
        "output lines suppressed",
        rx(r"printk: (?P<count>\d{1,9}) output lines suppressed due to ratelimiting"),
        on_node,
        role=Role.DROPPED,
    ),
    LinePattern("", "storm detected", rx(r"CMCI storm detected"), on_node, role=Role.DROPPED),
)

_LIMITS = (
    LinePattern(
        "bad_page",
        "BUG: Bad page",
        rx(
            r"BUG: Bad page (?P<what>state|map|cache) in process (?P<name>@COMM@)\s+"
            r"(?:pfn:(?P<pfn>[0-9a-f]{1,16})|pte:)"
        ),
        on_node,
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "clocksource_unstable",
        "Marking clocksource",
        rx(
            r"clocksource: timekeeping watchdog(?: on CPU(?P<cpu>\d{1,5}))?: "
            r"Marking clocksource '(?P<clocksource>[\w-]{1,32})' as unstable"
        ),
        on_node,
    ),
    LinePattern(
        "conntrack_full",
        "table full",
        rx(
            r"nf_conntrack: (?:nf_conntrack: )?table full(?: in netns (?P<netns>\d{1,12}))?, "
            r"dropping packet"
        ),
        on_node,
    ),
)

KERNEL: tuple[LinePattern, ...] = (*_STALLS, *_KERNEL, *_LIMITS, *_DROPPED)
