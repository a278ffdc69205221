"""Lines about processes: memory kills, hangs, crashes.

Layouts are those of mm/oom_kill.c, kernel/hung_task.c, arch/x86/mm/fault.c and
arch/x86/kernel/traps.c from 3.10 to 6.18. Names of processes are chosen by tenants, at most 15
characters long, and may hold any sign: the pid is the last number.
"""

import re

from exporter.collectors.kernel_log.patterns.pattern import (
    NODE,
    Chosen,
    Fields,
    LinePattern,
    Role,
    Subject,
    on,
    on_node,
    rx,
)
from exporter.reading.cgroup import pod_and_container

PROCESS_OF_PID = on("process", "pid")

_LIBRARY = r"(?: in (?P<library>.{1,255})\[[0-9a-f,]{1,40}\+[0-9a-f]+\])?"
"""The file and the place in it that the kernel adds: `%pD[%lx,%lx+%lx]`."""

_GROUPS = re.compile(
    # A path begins with a slash; the name of a group, which is printed before, has none.
    r"(?:oom_memcg=(?P<memcg>/[^,]*)|global_oom),task_memcg=(?P<task_memcg>/[^,]*)$"
)


def _victim(fields: Fields) -> Subject:
    """Return the pod whose limit was met, the node when it had no memory left, else the process."""
    if fields.get("scope") == "node":
        return NODE
    if "pod_uid" in fields:
        return ("workload", fields["pod_uid"])
    return PROCESS_OF_PID(fields)


def _refine_group(fields: dict[str, str]) -> dict[str, str]:
    """Add pod and container of the group whose limit was met."""
    return fields | pod_and_container(fields.get("task_memcg") or fields.get("memcg", ""))


def _refine_decision(fields: dict[str, str]) -> dict[str, str]:
    """Return the control groups of the decision, and who was without memory: a group or the node.

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
    """Tell what was without memory: one control group, or the whole node."""
    fields["scope"] = "group" if fields.pop("how").startswith("Memory cgroup") else "node"
    return fields


_GROUP_FIELDS = ("memcg", "task_memcg", "pod_uid", "container_id")

_OUT_OF_MEMORY = (
    LinePattern(
        "oom_invoked",
        "invoked oom-killer",
        rx(r"(?P<name>@COMM@) invoked oom-killer: (?P<text>gfp_mask=.{0,300}adj=-?\d{1,5})$"),
        on_node,
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "oom_kill",
        "oom-kill:",
        rx(
            r"oom-kill:constraint=(?P<constraint>CONSTRAINT_\w{1,20}),(?P<text>.*),"
            r"task=(?P<name>@COMM@),pid=(?P<pid>\d{1,10}),uid=(?P<uid>\d{1,10})\s*$"
        ),
        _victim,
        role=Role.START,
        refine=_refine_decision,
        fields=("constraint", "scope", "name", "pid", "uid", *_GROUP_FIELDS),
        chosen=(Chosen.CGROUP, Chosen.COMM),
    ),
    LinePattern(
        "oom_kill",
        "ut of memory",
        rx(
            r"(?P<how>Memory cgroup out of memory|Out of memory(?: \([\w -]{1,40}\))?): "
            r"Kill(?:ed)? process (?P<pid>\d{1,10}) \((?P<name>@COMM@?)\)"
            r"(?:,? (?:UID \d+,? )?total-vm:\d+kB, anon-rss:(?P<anon_rss_kilobytes>\d+)kB"
            r"| score (?P<score>\d{1,6})|[ ,])"
        ),
        _victim,
        role=Role.JOIN,
        same="pid",
        once="anon_rss_kilobytes",
        refine=_refine_kill,
        fields=("scope", "pid", "name", "anon_rss_kilobytes", "score"),
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "oom_kill",
        "Killed process",
        rx(
            r"Killed process (?P<pid>\d{1,10}) \((?P<name>@COMM@?)\),? (?:UID \d+,? )?"
            r"total-vm:\d+kB, anon-rss:(?P<anon_rss_kilobytes>\d+)kB"
        ),
        _victim,
        role=Role.JOIN,
        once="anon_rss_kilobytes",
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "oom_kill",
        "memory.oom.group set",
        rx(r"Tasks in (?P<memcg>/\S{0,1000}) are going to be killed due to memory\.oom\.group set"),
        _victim,
        refine=_refine_group,
        fields=_GROUP_FIELDS,
        chosen=(Chosen.CGROUP,),
    ),
    LinePattern(
        "oom_kill",
        "killed as a result of limit of",
        rx(
            r"Task in (?P<task_memcg>\S{1,500}) killed as a result of limit of (?P<memcg>\S{1,500})"
        ),
        _victim,
        role=Role.START,
        needs="pid",
        refine=_refine_group,
        fields=_GROUP_FIELDS,
        chosen=(Chosen.CGROUP,),
    ),
    LinePattern(
        "kernel_panic",
        "no killable processes",
        rx(r"(?P<text>Out of memory and no killable processes.*)"),
        on_node,
    ),
)

_HUNG = (
    LinePattern(
        "hung_task",
        "blocked ",
        rx(
            r"INFO: task (?P<name>@COMM@):(?P<pid>\d{1,10}) blocked (?P<wait>in I/O wait )?for "
            r"more than (?P<seconds>\d{1,8}) seconds"
        ),
        PROCESS_OF_PID,
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "hung_task_owner",
        "blocked on a",
        rx(
            r"INFO: task (?P<name>@COMM@?):(?P<pid>\d{1,10})(?: <\w{1,16}>)? (?:is )?blocked "
            r"on an? (?P<lock>[\w-]{1,30}),? (?:likely |last )*(?:owned|held) by task "
            r"(?P<owner>@COMM@):(?P<owner_pid>\d{1,10})"
        ),
        PROCESS_OF_PID,
        chosen=(Chosen.COMM,),
    ),
)

_CRASHES = (
    LinePattern(
        "segfault",
        "segfault at",
        rx(
            r"(?P<name>@COMM@?)\[(?P<pid>\d{1,10})\]: segfault at [0-9a-f]+ ip [0-9a-f]+ "
            rf"sp [0-9a-f]+ error [0-9a-f]+{_LIBRARY}"
            r"(?: likely on CPU \d+ \(core \d+, socket \d+\))?\s*$"
        ),
        PROCESS_OF_PID,
        chosen=(Chosen.COMM, Chosen.FILE),
    ),
    LinePattern(
        "process_trap",
        "traps: ",
        rx(
            r"traps: (?P<name>@COMM@)\[(?P<pid>\d{1,10})\] (?:trap )?(?P<trap>[a-z][\w -]{2,40}) "
            rf"ip:[0-9a-f]+ sp:[0-9a-f]+ error:[0-9a-f]+{_LIBRARY}\s*$"
        ),
        PROCESS_OF_PID,
        chosen=(Chosen.COMM, Chosen.FILE),
    ),
)

PROCESS: tuple[LinePattern, ...] = (*_OUT_OF_MEMORY, *_HUNG, *_CRASHES)
