"""Kernel lines that hold words which a tenant chooses, and the words that gain most there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tests.sources.kernel_log.feeding import Case
from tests.sources.kernel_log.patterns import (
    test_amdgpu,
    test_ascend,
    test_driver,
    test_drivers,
    test_filesystem,
    test_intel,
    test_memory,
    test_network,
    test_network_storage,
    test_pcie,
    test_process,
    test_storage,
    test_storage_adapters,
    test_xid,
)

COMM_BYTES = 15
"""The longest name of a process (TASK_COMM_LEN less the zero)."""

FILE_BYTES = 255

_CASES: tuple[Case, ...] = (
    *test_amdgpu.CASES,
    *test_ascend.CASES,
    *test_driver.CASES,
    *test_drivers.CASES,
    *test_filesystem.CASES,
    *test_intel.CASES,
    *test_memory.CASES,
    *test_network.CASES,
    *test_network_storage.CASES,
    *test_pcie.CASES,
    *test_process.CASES,
    *test_storage.CASES,
    *test_storage_adapters.CASES,
)

KNOWN_LINES = tuple(
    dict.fromkeys(
        line
        for text in (
            *(row[0] for row in test_xid.XIDS),
            *(
                text
                for case in _CASES
                for text in ([case[3]] if isinstance(case[3], str) else case[3])
            ),
        )
        for line in text.split("\n")
    )
)
"""A line for every layout that is known."""

Words: TypeAlias = tuple[str, str]
"""The name of a process, and one of a file, a group, a server or a mount."""


@dataclass(frozen=True, slots=True)
class Template:
    """A line as the kernel prints it about any process, and the kinds that it may be."""

    text: str
    kinds: frozenset[str] = frozenset()

    def line(self, words: Words) -> str:
        """The line with these words in the places of those that a tenant chooses."""
        comm, file = words
        return self.text.replace("{comm}", comm).replace("{file}", file)


_TAIL = "[1170,55edc7aeb000+1000] likely on CPU 1 (core 1, socket 0)"
_IP = "ip 000055edc7aeb170 sp 00007ffdb04a21a0 error 6"
_GROUPS = "mems_allowed=0,oom_memcg=/{file},task_memcg=/{file}"

TEMPLATES = (
    Template("{comm}[4711]: segfault at 8 " + _IP + " in {file}" + _TAIL, frozenset({"segfault"})),
    Template("{comm}[4711] bad frame in rt_sigreturn frame:0 ip:0 sp:0 orax:0 in {file}" + _TAIL),
    Template("{comm}[4711] vsyscall attempted with vsyscall=none ip:ffffffffff600000"),
    Template("{comm}/4711: potentially unexpected fatal signal 11."),
    Template("{comm} (4711): drop_caches: 3"),
    Template("{comm} (4711) used greatest stack depth: 11064 bytes left"),
    Template("{comm}: attempt to access beyond end of device", frozenset({"block_io_error"})),
    Template(
        "{comm} invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE), order=0",
        frozenset({"oom_invoked"}),
    ),
    Template(
        "traps: {comm}[4711] general protection fault ip:55ed sp:7ffd error:0 in {file}" + _TAIL,
        frozenset({"process_trap"}),
    ),
    Template("INFO: task {comm}:4711 blocked for more than 122 seconds.", frozenset({"hung_task"})),
    Template(
        "watchdog: BUG: soft lockup - CPU#3 stuck for 26s! [{comm}:4711]",
        frozenset({"soft_lockup"}),
    ),
    Template(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={file},"
        + _GROUPS
        + ",task={comm},pid=4711,uid=0",
        frozenset({"oom_kill"}),
    ),
    Template(
        "Memory cgroup out of memory: Killed process 4711 ({comm}) total-vm:8kB, anon-rss:6kB, "
        "file-rss:1kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:985",
        frozenset({"oom_kill"}),
    ),
    Template(
        "Memory failure: 0x12f3456: Sending SIGBUS to {comm}:4711 due to hardware memory "
        "corruption",
        frozenset({"page_offline"}),
    ),
    Template("Memory cgroup stats for /{file}:"),
    Template("/{file},task_memcg=/{file},task={comm},pid=4711,uid=0"),
    Template(
        "NVRM: Xid (PCI:0000:5e:00): 31, pid=4711, name={comm}, Ch 00000010, intr 00000000. MMU "
        "Fault: ENGINE CE2",
        frozenset({"xid"}),
    ),
    Template(
        "NVRM: API mismatch: the client '{comm}' (pid 4711)", frozenset({"driver_version_mismatch"})
    ),
    Template(
        "EXT4-fs error (device dm-7): ext4_find_entry:1663: inode #2: comm {comm}: reading "
        "directory lblock 0",
        frozenset({"fs_error"}),
    ),
    Template(
        "amdgpu 0000:03:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:40 vmid:8 "
        "pasid:32776, for process {comm} pid 4711 thread {comm} pid 4712)",
        frozenset({"gpu_page_fault"}),
    ),
    Template(
        "amdgpu 0000:03:00.0: amdgpu: Process information: process {comm} pid 4711 thread {comm} "
        "pid 4712",
        frozenset({"gpu_ring_timeout"}),
    ),
    Template(
        "amdgpu 0000:03:00.0:  Process {comm} pid 4711 thread {comm} pid 4712",
        frozenset({"gpu_page_fault"}),
    ),
    Template(
        "[ascend] [drv_pcie] [devdrv_sync_non_trans_msg_send 1239] <{comm}:4711:4712> Device is "
        "abnormal. (dev_id=5; msg_type=3; common_type=5)",
        frozenset({"npu_abnormal"}),
    ),
    Template("nfs: server {file} not responding, still trying", frozenset({"nfs_not_responding"})),
    Template("process '{file}' launched '{file}' with NULL argv: empty string added"),
    Template("overlayfs: failed to resolve '{file}': -2"),
    Template('audit: type=1701 audit(1.1:1): pid=4711 comm="{comm}" exe="{file}" sig=11 res=1'),
    Template("CPU: 3 PID: 4711 Comm: {comm} Tainted: P           OE      6.8.0-45-generic"),
    Template("[   4711]  1000  4711    12345      678        0   12345        0   985 {comm}"),
    Template("cgroup: fork rejected by pids controller in /{file}"),
    Template("device-mapper: table: 253:7: {file}: linear: Device lookup failed"),
    Template("Adding 8k swap on /{file}.  Priority:-2 extents:1 across:8k"),
    Template("{comm}: renamed from {comm}"),
)


def forgeries(template: Template) -> list[str]:
    """The template with all words that gain most, each text once."""
    words = (words for line in KNOWN_LINES for words in _words(template, line))
    return list(dict.fromkeys(template.line(each) for each in words))


def _words(template: Template, line: str) -> Iterator[Words]:
    """Ways to make this line out of the name of a process and the name of a file.

    The file is the line or begins one of its own. Where the name begins the record, it says the
    beginning of the line and the file any rest of it, so that what the kernel prints between
    them only has to be overlooked.
    """
    is_at_start = template.text.startswith("{comm}")
    start = line[:COMM_BYTES]
    cut = (f"{start[:-1]}\n", f"a\n{line}"[:COMM_BYTES])
    for comm in ("a", "NVRM: a", start, *cut) if is_at_start else ("a", start):
        for file in (line, f"a\n{line}"):
            yield comm, file[:FILE_BYTES]
    words = [at + 1 for at, sign in enumerate(line) if sign == " "] if is_at_start else []
    for length in sorted({COMM_BYTES, *(at for at in words if at < COMM_BYTES)}):
        for rest in words:
            if rest >= length:
                yield line[:length], line[rest:][:FILE_BYTES]
