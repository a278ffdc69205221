"""The program for bpftrace: what is in it for which calls, and where arguments lie."""

import re

import pytest

from exporter.collectors.ebpf.batch import Batch, BatchReader
from exporter.collectors.ebpf.calls import CALLS, DATATYPE_BYTES, numbers_of
from exporter.collectors.ebpf.collectives.program import argument, ranks
from exporter.collectors.ebpf.program import Target, count_calls

CUDA = Target(7, numbers_of(("cuda",)))
NCCL = Target(8, numbers_of(("nccl",)), frozenset({"ncclCommInitRank", "ncclCommDestroy"}))


def test_each_call_has_a_beginning_and_an_end() -> None:
    """One probe for each, on the open file and on nothing else."""
    program = count_calls([CUDA, NCCL])
    for call in CALLS:
        file = 7 if call.layer == "cuda" else 8
        for kind in ("uprobe", "uretprobe"):
            assert program.count(f"{kind}:/proc/self/fd/{file}:{call.name} ") == 1
    assert {int(number) for number in re.findall(r"/proc/self/fd/(\d+):", program)} == {7, 8}


@pytest.mark.parametrize("targets", [[CUDA], [NCCL], [CUDA, NCCL], [Target(9, {"ncclSend": 13})]])
def test_no_map_is_printed_or_deleted_that_is_not_written(targets: list[Target]) -> None:
    """A map that nothing is written to is a mistake for bpftrace."""
    program = count_calls(targets)
    written = set(re.findall(r"(@\w+)(?:\[[^\]]*\])? =", program))
    used = set(re.findall(r"(?:print|clear|delete)\((@\w+)", program))
    assert used <= written


def test_every_map_of_a_set_is_printed_before_it_is_cleared() -> None:
    """A set is full until it was printed and cleared; what ends the printing comes between."""
    program = count_calls([CUDA, NCCL])
    for number in "01":
        names = set(re.findall(rf"(@\w+{number})\[", program)) - {f"@full{number}"}
        for name in names:
            printed, cleared = (program.index(f"{word}({name});") for word in ("print", "clear"))
            assert printed < program.index('printf("end', printed) < cleared
            assert cleared < program.index(f"clear(@full{number});")


def test_arguments_lie_where_the_abi_puts_them() -> None:
    """Six are in registers on x86-64, eight on arm64; the others on the stack."""
    assert [argument(place, "x86_64") for place in (0, 5, 6)] == ["arg0", "arg5", "sarg0"]
    assert [argument(place, "aarch64") for place in (6, 7, 8)] == ["arg6", "arg7", "sarg0"]


def test_the_id_of_a_communicator_is_read_from_the_stack_or_through_its_pointer() -> None:
    """A structure of 128 bytes by value: on the stack on x86-64, behind a pointer on arm64."""
    start = frozenset({"ncclCommInitRank"})
    x86, arm = (ranks("/f", start, machine)[0] for machine in ("x86_64", "aarch64"))
    assert '*(uint64*)(reg("sp") + 8 + 0)' in x86
    assert "(int32)arg2)" in x86
    assert "*(uint64*)(arg2 + 0)" in arm
    assert "(int32)arg3)" in arm


@pytest.mark.parametrize(("code", "size"), [*enumerate(DATATYPE_BYTES)])
def test_bytes_are_shifted_by_the_size_of_the_datatype(code: int, size: int) -> None:
    """The shift for each datatype is packed into one number."""
    packed = re.search(r"\((0x[0-9a-f]+) >> \(\(uint32\)arg3 \* 2\)\) & 3", count_calls([NCCL]))
    assert packed is not None
    assert 1 << (int(packed[1], 16) >> (code * 2) & 3) == size


def test_a_batch_is_given_on_when_all_of_it_was_printed() -> None:
    """The number of the set is in no name; what is no map is left out, and nothing comes twice."""
    found: list[Batch] = []
    reader = BatchReader(found.append)
    for record in ({"@sum1": {"1,2": 5}}, {"@set": 1}):
        reader.take(record)
    assert found == []
    for _ in range(2):
        reader.take({"text": "end\n"})
    assert [each.maps for each in found] == [{"@sum": {"1,2": 5}}, {}]
    assert found[0].entries("@sum") == [((1, 2), 5)]
    assert found[0].entries("@time") == []
