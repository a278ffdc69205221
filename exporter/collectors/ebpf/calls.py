"""Which functions are counted: their layer, their library, and where their arguments lie."""

import re

from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """One function of a library; of a collective, which arguments hold what.

    `size` are those of count and datatype, `comm` that of the communicator; `is_for_all` are calls
    that every rank makes. `no_errors` are results that are none, besides 0.
    """

    name: str
    layer: str
    size: tuple[int, int] | None = None
    comm: int | None = None
    is_for_all: bool = False
    no_errors: tuple[int, ...] = ()


LIBRARIES = {
    "cuda": re.compile(r"lib(?:cudart|cuda)\.so(?:\.[\d.]+)?"),
    "nccl": re.compile(r"libnccl\.so(?:\.[\d.]+)?"),
}
"""The names of the files that the functions of a layer are in."""

IN_PROGRESS = 7  # ncclInProgress: a communicator that does not block


def _nccl(
    name: str, size: tuple[int, int] | None, comm: int | None, *, is_for_all: bool = False
) -> Call:
    return Call(name, "nccl", size, comm, is_for_all, (IN_PROGRESS,))


CALLS: tuple[Call, ...] = (
    *(
        Call(name, "cuda")
        for name in (
            *("cudaLaunchKernel", "cudaMalloc", "cudaFree", "cudaMemcpy", "cudaMemcpyAsync"),
            *("cuLaunchKernel", "cuMemAlloc_v2", "cuMemFree_v2"),
        )
    ),
    _nccl("ncclAllReduce", (2, 3), 5, is_for_all=True),
    _nccl("ncclReduce", (2, 3), 6, is_for_all=True),
    _nccl("ncclBroadcast", (2, 3), 5, is_for_all=True),
    _nccl("ncclAllGather", (2, 3), 4, is_for_all=True),
    _nccl("ncclReduceScatter", (2, 3), 5, is_for_all=True),
    _nccl("ncclSend", (1, 2), 4),
    _nccl("ncclRecv", (1, 2), 4),
    _nccl("ncclGroupEnd", None, None),
)
"""The place of a call in this list is its number in the kernel's maps.

https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/colls.html
"""

STARTS = ("ncclCommInitRank", "ncclCommInitRankConfig")
"""Where a process becomes a rank: communicator, ranks, id of 128 bytes by value, rank."""

ENDS = ("ncclCommDestroy", "ncclCommAbort")
"""Where it is one no longer; the communicator is the first argument."""

DATATYPE_BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
"""By ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, the floats, bfloat16, float8."""


def numbers_of(layers: tuple[str, ...], skipped: tuple[str, ...] = ()) -> dict[str, int]:
    """Return the numbers of the calls of these layers by name; without those not wanted."""
    return {
        call.name: number
        for number, call in enumerate(CALLS)
        if call.layer in layers and call.name not in skipped
    }
