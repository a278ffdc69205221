"""Lines about processes and the kernel itself: memory kills, lockups, stalls, panics, limits.

Layouts are those of mm/oom_kill.c, kernel/watchdog.c, kernel/rcu/tree_stall.h, kernel/hung_task.c,
kernel/panic.c and arch/x86 from 3.10 to 6.16. Names of processes are chosen by tenants, at most 15
characters long, and may hold any sign: the pid is the last number.
"""

import re

from exporter.model.event import EventType
from exporter.sources.cgroup import pod_and_container
from exporter.sources.kernel_log.patterns.pattern import (
    NODE,
    Chosen,
    Fields,
    Kind,
    Role,
    Subject,
    on,
    on_node,
    rx,
)

CPU = on("cpu", "cpu")
PROCESS = on("process", "pid")

_OOPS = (
    r"BUG: unable to handle |BUG: kernel NULL pointer dereference"
    r"|kernel BUG at [\w./+-]{1,200}:\d{1,6}!|Unable to handle kernel |Internal error: Oops"
)
_TRAP = (
    r"(?:Oops|divide error|general protection fault[\w ,-]{0,90}|invalid opcode|int3|stack segment"
    r"|segment not present|invalid TSS|double fault|alignment check|page fault)"
)
# What follows tells the kernel's own line from one that starts with a process of such a name.
_TRAP_END = r"(?:$| [A-Z])"

_GROUPS = re.compile(r"(?:oom_memcg=(?P<memcg>[^,]*)|global_oom),task_memcg=(?P<task_memcg>[^,]*)$")


def _victim(fields: Fields) -> Subject:
    """The pod whose limit was met, the node when it had no memory left, else the process."""
    if fields.get("scope") == "node":
        return NODE
    if "pod_uid" in fields:
        return ("workload", fields["pod_uid"])
    return PROCESS(fields)


def _refine_group(fields: dict[str, str]) -> dict[str, str]:
    """Pod and container from the group whose limit was met."""
    return fields | pod_and_container(fields.get("task_memcg") or fields.get("memcg", ""))


def _refine_decision(fields: dict[str, str]) -> dict[str, str]:
    """The control groups of the decision, and who was without memory: a group or the node.

    Names of groups are chosen by whoever makes them: a text in which they could be read in more
    than one way says nothing about them.
    """
    text = fields.pop("text")
    fields["scope"] = "group" if fields["constraint"] == "CONSTRAINT_MEMCG" else "node"
    groups = _GROUPS.search(text)
    if groups is not None and text.count("task_memcg=") == 1:
        fields |= {name: value for name, value in groups.groupdict().items() if value}
    return _refine_group(fields)


def _refine_kill(fields: dict[str, str]) -> dict[str, str]:
    """Who was without memory: one control group, or the whole node."""
    fields["scope"] = "group" if fields.pop("how").startswith("Memory cgroup") else "node"
    return fields


_OUT_OF_MEMORY = (
    Kind(
        "oom_invoked",
        "invoked oom-killer",
        rx(r"(?P<name>@COMM@) invoked oom-killer: (?P<text>gfp_mask=.{0,300}adj=-?\d{1,5})$"),
        on_node,
        EventType.PROCESS_STATE,
        chosen=(Chosen.COMM,),
    ),
    Kind(
        "oom_kill",
        "oom-kill:",
        rx(
            r"oom-kill:constraint=(?P<constraint>CONSTRAINT_\w{1,20}),(?P<text>.*),"
            r"task=(?P<name>@COMM@),pid=(?P<pid>\d{1,10}),uid=(?P<uid>\d{1,10})\s*$"
        ),
        _victim,
        EventType.PROCESS_STATE,
        role=Role.START,
        refine=_refine_decision,
        chosen=(Chosen.CGROUP, Chosen.COMM),
    ),
    Kind(
        "oom_kill",
        "ut of memory",
        rx(
            r"(?P<how>Memory cgroup out of memory|Out of memory(?: \([\w -]{1,40}\))?): "
            r"Kill(?:ed)? process (?P<pid>\d{1,10}) \((?P<name>@COMM@?)\)"
            r"(?:,? (?:UID \d+,? )?total-vm:\d+kB, anon-rss:(?P<anon_rss_kilobytes>\d+)kB"
            r"| score (?P<score>\d{1,6})|[ ,])"
        ),
        _victim,
        EventType.PROCESS_STATE,
        role=Role.JOIN,
        same="pid",
        once="anon_rss_kilobytes",
        refine=_refine_kill,
        chosen=(Chosen.COMM,),
    ),
    Kind(
        "oom_kill",
        "Killed process",
        rx(
            r"Killed process (?P<pid>\d{1,10}) \((?P<name>@COMM@?)\),? (?:UID \d+,? )?"
            r"total-vm:\d+kB, anon-rss:(?P<anon_rss_kilobytes>\d+)kB"
        ),
        _victim,
        EventType.PROCESS_STATE,
        role=Role.JOIN,
        once="anon_rss_kilobytes",
        chosen=(Chosen.COMM,),
    ),
    Kind(
        "oom_kill",
        "memory.oom.group set",
        rx(r"Tasks in (?P<memcg>\S{1,1000}) are going to be killed due to memory\.oom\.group set"),
        _victim,
        EventType.PROCESS_STATE,
        refine=_refine_group,
        chosen=(Chosen.CGROUP,),
    ),
    Kind(
        "oom_kill",
        "killed as a result of limit of",
        rx(
            r"Task in (?P<task_memcg>\S{1,500}) killed as a result of limit of (?P<memcg>\S{1,500})"
        ),
        _victim,
        EventType.PROCESS_STATE,
        role=Role.START,
        needs="pid",
        refine=_refine_group,
        chosen=(Chosen.CGROUP,),
    ),
    Kind(
        "kernel_panic",
        "no killable processes",
        rx(r"(?P<text>Out of memory and no killable processes.*)"),
        on_node,
    ),
)

_STALLS = (
    Kind(
        "soft_lockup",
        "soft lockup",
        rx(
            r"(?:(?:NMI )?watchdog: )?BUG: soft lockup - CPU#(?P<cpu>\d{1,5}) stuck for "
            r"(?P<seconds>\d{1,8})s! \[(?P<name>@COMM@):(?P<pid>\d{1,10})\]"
        ),
        CPU,
        chosen=(Chosen.COMM,),
    ),
    Kind(
        "hard_lockup",
        "hard LOCKUP",
        rx(
            r"(?:NMI )?(?:watchdog: )?(?:CPU\d{1,5}: )?Watchdog detected hard LOCKUP on cpu "
            r"(?P<cpu>\d{1,5})"
        ),
        CPU,
    ),
    Kind(
        "rcu_stall",
        "INFO: rcu",
        rx(
            r"(?:rcu: )?INFO: (?P<flavour>rcu\w{1,20}) (?:self-detected stall on CPU"
            r"|detected (?:expedited )?stalls on CPUs/tasks:)"
        ),
        on_node,
    ),
    Kind(
        "hung_task",
        "blocked ",
        rx(
            r"INFO: task (?P<name>@COMM@):(?P<pid>\d{1,10}) blocked (?P<wait>in I/O wait )?for "
            r"more than (?P<seconds>\d{1,8}) seconds"
        ),
        PROCESS,
        EventType.PROCESS_STATE,
        chosen=(Chosen.COMM,),
    ),
    Kind(
        "hung_task_owner",
        "is blocked on a",
        rx(
            r"INFO: task (?P<name>@COMM@?):(?P<pid>\d{1,10})(?: <\w+>)? is blocked on an? "
            r"(?P<lock>[\w-]{1,30}),? (?:likely |last )*(?:owned|held) by task "
            r"(?P<owner>@COMM@):(?P<owner_pid>\d{1,10})"
        ),
        PROCESS,
        EventType.PROCESS_STATE,
        chosen=(Chosen.COMM,),
    ),
)

_KERNEL = (
    Kind(
        "kernel_panic",
        "Kernel panic",
        rx(r"Kernel panic - not syncing(?:: (?P<text>.*))?"),
        on_node,
    ),
    Kind("kernel_oops", "BUG", rx(rf"(?P<text>(?:{_OOPS}).*)"), on_node),
    Kind("kernel_oops", "ernal error", rx(rf"(?P<text>(?:{_OOPS}).*)"), on_node),
    Kind("kernel_oops", "Unable to handle", rx(rf"(?P<text>(?:{_OOPS}).*)"), on_node),
    Kind(
        "kernel_oops",
        "[#",
        rx(rf"(?P<text>(?:Oops: )?{_TRAP}: [0-9a-f]{{4}} \[#\d{{1,4}}\]){_TRAP_END}"),
        on_node,
    ),
    Kind("file_max", "file-max", rx(r"VFS: file-max limit (?P<limit>\d{1,20}) reached"), on_node),
    Kind(
        "netdev_unregister_wait",
        "unregister_netdevice",
        rx(
            r"unregister_netdevice: waiting for (?P<interface>\S{1,16}) to become free\."
            r"(?: Usage count = (?P<count>-?\d+))?"
        ),
        on("network", "interface"),
        EventType.ERROR_NET,
        chosen=(Chosen.INTERFACE,),
    ),
    Kind(
        "cpu_thermal",
        "above threshold",
        rx(
            r"(?:mce: )?CPU(?P<cpu>\d{1,5}): (?P<level>Package|Core) temperature (?:is )?above "
            r"threshold, cpu clock (?:is )?throttled(?: \(total events = (?P<total>\d+)\))?"
        ),
        CPU,
    ),
    Kind(
        "cpu_thermal",
        "temperature/speed normal",
        rx(r"(?:mce: )?CPU(?P<cpu>\d{1,5}): (?P<level>Package|Core) temperature/speed normal"),
        CPU,
        role=Role.ENDED,
    ),
)

_LOSSES = (
    Kind(
        "",
        "callbacks suppressed",
        rx(r"[\w./-]{1,64}: (?P<count>\d{1,9}) callbacks suppressed"),
        on_node,
        role=Role.LOSS,
    ),
    Kind(
        "",
        "output lines suppressed",
        rx(r"printk: (?P<count>\d{1,9}) output lines suppressed due to ratelimiting"),
        on_node,
        role=Role.LOSS,
    ),
    Kind("", "storm detected", rx(r"CMCI storm detected"), on_node, role=Role.LOSS),
)

PROCESS_KINDS: tuple[Kind, ...] = (*_OUT_OF_MEMORY, *_STALLS, *_KERNEL, *_LOSSES)
