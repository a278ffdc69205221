"""Functions that the operator chooses: operators of Torch and functions of Python.

They are only counted. A duration would take a return probe, which replaces the return address: an
exception of C++ that passes it, or a thread of Python that is ended, then kills the program.
"""

import re
from collections.abc import Sequence
from operator import add
from types import MappingProxyType

from exporter.collectors.ebpf.batch import Batch, in_both, turns
from exporter.collectors.ebpf.capped import WorkloadTotals
from exporter.collectors.ebpf.elf import BadLibrary, functions_of, functions_starting
from exporter.collectors.ebpf.values import TracedFunction
from exporter.record import dataclass

TORCH, PYTHON = "torch", "python"

FILES = MappingProxyType(
    {
        TORCH: re.compile(r"libtorch_cpu\.so"),
        PYTHON: re.compile(r"libpython3\.1[0-3]\.so\.1\.0|python3\.1[0-3]"),
    }
)
"""The files that the functions of a layer are in; the layout of other Pythons is not known."""

EVAL = "_PyEval_EvalFrameDefault"
_VERSION = re.compile(r"python3\.(\d+)")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a frame of one version of CPython has its code, that its name, and that its text."""

    code: int
    name: int
    text: int
    has_qualified_names: bool = True


LAYOUTS = MappingProxyType(
    {
        10: Layout(code=32, name=112, text=48, has_qualified_names=False),
        11: Layout(code=32, name=128, text=48),
        12: Layout(code=0, name=128, text=40),
        13: Layout(code=0, name=128, text=40),
    }
)
"""By minor version, 64 bits: PyFrameObject or _PyInterpreterFrame, PyCodeObject, PyASCIIObject."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function that is counted."""

    layer: str
    name: str

    @property
    def prefix(self) -> str:
        """How the symbol of an operator of Torch begins: at::_ops::NAME::call, of any arguments."""
        name = self.name.replace(".", "_")
        return f"_ZN2at4_ops{len(name)}{name}4callE"


def functions(operators: Sequence[str], of_python: Sequence[str]) -> tuple[Function, ...]:
    """List what was chosen; the place of a function is its number in the kernel's maps."""
    return (
        *(Function(TORCH, name) for name in dict.fromkeys(operators)),
        *(Function(PYTHON, name) for name in dict.fromkeys(of_python)),
    )


def probes_of(
    layer: str, descriptor: int, file_name: str, chosen: Sequence[Function]
) -> tuple[str, ...]:
    """Write the probes for an open file; raise BadLibrary where it has none of the functions."""
    place = f"uprobe:/proc/self/fd/{descriptor}"
    if layer == PYTHON:
        found = _VERSION.search(file_name)
        layout = LAYOUTS.get(int(found[1])) if found else None
        if layout is None:
            raise BadLibrary("it is no interpreter of a known version")
        if not functions_of(descriptor, (EVAL,)):
            return ()  # the program of an interpreter that is a library
        return (f"{place}:{EVAL} {{ {_evaluated(layout)} }}",)
    symbols = functions_starting(descriptor, [one.prefix for one in chosen if one.layer == TORCH])
    if not symbols:
        raise BadLibrary("it has none of the operators")
    return tuple(
        f"{place}:{symbols[one.prefix]} {{ {_counted(str(number))} }}"
        for number, one in enumerate(chosen)
        if one.layer == TORCH and one.prefix in symbols
    )


def count_functions(chosen: Sequence[Function], probes: Sequence[str]) -> str:
    """Write the program that counts the chosen functions."""
    names = [
        f'@names["{short}"] = {number + 1}; @qualified["{one.name}"] = {number + 1};'
        for number, one in enumerate(chosen)
        if one.layer == PYTHON
        for short in (one.name.rpartition(".")[2],)
    ]
    begin = f"BEGIN {{ @set = 0; {' '.join(names)} }}"
    return "\n".join([begin, *probes, turns(("@calls",))])


def _evaluated(layout: Layout) -> str:
    names = "@qualified" if layout.has_qualified_names else "@names"
    text = f"*(uint64 *)(*(uint64 *)(arg1 + {layout.code}) + {layout.name}) + {layout.text}"
    return f"$number = {names}[str({text})]; if ($number) {{ {_counted('$number - 1')} }}"


def _counted(number: str) -> str:
    return in_both(f"@callsSET[pid, {number}] = sum(1);")


MAX_SERIES = 256
"""Functions of workloads that are kept apart; what comes later is counted as that of others."""


class FunctionTotals(WorkloadTotals[int]):
    """Takes the batches of bpftrace."""

    def __init__(self, chosen: Sequence[Function]) -> None:
        super().__init__(MAX_SERIES, add, int)
        self._chosen = chosen

    def take(self, batch: Batch) -> None:
        """Add one batch; raise ValueError or TypeError for foreign rows."""
        for (pid, number), calls in batch.entries("@calls"):
            if 0 <= number < len(self._chosen):
                self.add(pid, number, calls)

    def functions(self) -> tuple[TracedFunction, ...]:
        """Return the totals."""
        return tuple(
            TracedFunction(self._chosen[number].layer, self._chosen[number].name, workload, calls)
            for number, workload, calls in self.sums()
        )
