"""The bpftrace program that counts calls: nothing in it is a text from outside.

Language: https://github.com/bpftrace/bpftrace/blob/master/man/adoc/bpftrace.adoc
"""

from collections.abc import Mapping, Sequence

from exporter.collectors.ebpf.batch import in_both, turns
from exporter.collectors.ebpf.calls import CALLS
from exporter.collectors.ebpf.collectives import program as collectives
from exporter.record import dataclass

MAX_KEYS = 8192
"""Entries of one map; the kernel holds one number of each for every processor."""

DURATION, ERRORS = 0, 1
"""What an entry of @sum is, the last part of its key; another is BYTES."""


@dataclass(frozen=True, slots=True)
class Target:
    """An open file: the numbers of its calls by name, and which functions for ranks it has."""

    descriptor: int
    calls: Mapping[str, int]
    for_ranks: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        """How bpftrace names the file."""
        return f"/proc/self/fd/{self.descriptor}"


def count_calls(targets: Sequence[Target]) -> str:
    """Write the program that counts the calls of these files.

    Only maps that are written to exist.
    """
    probes = [_probes(target, name) for target in targets for name in target.calls]
    probes += [text for one in targets for text in collectives.ranks(one.place, one.for_ranks)]
    body = "\n".join(probes)
    numbers = {number for target in targets for number in target.calls.values()}
    maps = [name for name in ("@time", "@sum", *collectives.MAPS) if f"{name}0[" in body]
    now = [collectives.INSIDE] if f"{collectives.INSIDE}[" in body else []
    forget = _forget(sorted(numbers), body)
    return "\n".join(["BEGIN { @set = 0; }", body, forget, turns(maps, now)])


def _is_nccl(number: int) -> bool:
    return CALLS[number].layer == "nccl"


def _probes(target: Target, name: str) -> str:
    """Write what happens at the beginning and at the end of one call."""
    number = target.calls[name]
    at = f"@at[pid, tid, {number}]"
    failed = " && ".join(f"(int32)retval != {code}" for code in (0, *CALLS[number].no_errors))
    counted = (
        f"@timeSET[pid, tid, {number}] = hist($took);"
        f" @sumSET[pid, tid, {number}, {DURATION}] = sum($took);"
        f" if ({failed}) {{ @sumSET[pid, tid, {number}, {ERRORS}] = sum(1); }}"
    )
    begin, end = f"{at} = nsecs;", f"$took = nsecs - {at}; delete({at});"
    if _is_nccl(number):
        entered = collectives.count(number)
        begin += collectives.enter(number) + (in_both(entered) if entered else "")
        end += f" delete({collectives.INSIDE}[pid, tid, {number}]);"
    return (
        f"uprobe:{target.place}:{name} {{ {begin} }}\n"
        f"uretprobe:{target.place}:{name} /{at}/ {{ {end} {in_both(counted)} }}"
    )


def _forget(numbers: Sequence[int], body: str) -> str:
    """Write what happens when a thread ends: it leaves no call open."""
    keys = [
        *(f"@at[pid, tid, {number}]" for number in numbers),
        *(f"@in[pid, tid, {number}]" for number in numbers if _is_nccl(number)),
        *(f"{name}[pid, tid]" for name in collectives.OF_THREADS if f"{name}[" in body),
    ]
    deletes = " ".join(f"delete({key});" for key in keys)
    return f"tracepoint:sched:sched_process_exit {{ {deletes} }}"
