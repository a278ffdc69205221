"""What bpftrace does at calls of NCCL: bytes, who entered how often and when, who is a rank.

Arguments lie where the ABI puts them: on x86-64 six in registers and structures on the stack, on
arm64 eight in registers and large structures behind a pointer.
"""

import platform

from exporter.collectors.ebpf.batch import in_both
from exporter.collectors.ebpf.calls import CALLS, DATATYPE_BYTES, ENDS, IN_PROGRESS, STARTS

BYTES = 2
"""What an entry of @sum is, beside durations and errors of program.py."""

ENTERED, MOMENTS, DISTANCES = 0, 1, 2
"""What an entry of @met is: entries, the sum of their times, and of their squared distances."""

MAPS = ("@met", "@newest", "@made", "@gone")
"""The maps that take turns, beside those of all calls."""

INSIDE = "@in"
"""The threads inside a call now: since when, and with which communicator."""

OF_THREADS = ("@last", "@init")

FUNCTIONS = (*STARTS, *ENDS)

_REGISTERS = {"x86_64": 6, "aarch64": 8}
_SIZES = sum((size.bit_length() - 1) << 2 * code for code, size in enumerate(DATATYPE_BYTES))


def argument(place: int, machine: str = platform.machine()) -> str:
    """Write an integer argument: the first ones are in registers, the others on the stack."""
    registers = _REGISTERS.get(machine, 6)
    return f"arg{place}" if place < registers else f"sarg{place - registers}"


def enter(number: int) -> str:
    """Write what is done when a call is entered; `SET` stands for the set of maps in use."""
    call = CALLS[number]
    if call.comm is None:
        return f" @in[pid, tid, {number}] = (nsecs, @last[pid, tid].0);"
    text = f" $comm = (uint64){argument(call.comm)}; @in[pid, tid, {number}] = (nsecs, $comm);"
    if call.is_for_all:
        text += (
            " $since = (nsecs - @last[pid, tid].1) / 1000;"
            " if (@last[pid, tid].1 == 0) { $since = (uint64)0; }"
        )
    return text + " @last[pid, tid] = ($comm, nsecs);"


def count(number: int) -> str:
    """Write what is counted when a call is entered, in the set of maps `SET`."""
    call = CALLS[number]
    if call.size is None:
        return ""
    size, datatype = (argument(place) for place in call.size)
    text = (
        f" @sumSET[pid, tid, {number}, {BYTES}]"
        f" = sum({size} << (({_SIZES:#x} >> ((uint32){datatype} * 2)) & 3));"
    )
    if call.is_for_all:
        text += (
            f" @metSET[pid, tid, $comm, {ENTERED}] = sum(1);"
            f" @metSET[pid, tid, $comm, {MOMENTS}] = sum(nsecs);"
            f" @metSET[pid, tid, $comm, {DISTANCES}] = sum($since * $since);"
            " @newestSET[pid, tid, $comm] = max(nsecs);"
        )
    return text


def ranks(place: str, names: frozenset[str], machine: str = platform.machine()) -> list[str]:
    """Write what is done when a process of this library becomes a rank, and ends being one."""
    id_, rank = 'reg("sp") + 8', "arg2"
    if machine == "aarch64":
        id_, rank = "arg2", "arg3"
    words = " ^ ".join(f"*(uint64*)({id_} + {at})" for at in (0, 8, 16, 24))
    made = in_both("@madeSET[pid, *(uint64*)$a.0] = ($a.1, $a.2, $a.3, nsecs);")
    well = f"(int32)retval == 0 || (int32)retval == {IN_PROGRESS}"
    start = [
        f"uprobe:{place}:{name} {{ @init[pid, tid] ="
        f" ((uint64)arg0, {words}, (int64)(int32)arg1, (int64)(int32){rank}); }}\n"
        f"uretprobe:{place}:{name} /@init[pid, tid].0/ {{ $a = @init[pid, tid];"
        f" delete(@init[pid, tid]); if ({well}) {{ {made} }} }}"
        for name in STARTS
        if name in names
    ]
    gone = in_both("@goneSET[pid, (uint64)arg0] = nsecs;")
    return start + [f"uprobe:{place}:{name} {{ {gone} }}" for name in ENDS if name in names]
