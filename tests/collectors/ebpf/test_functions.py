"""Which functions of Python and Torch are counted, and by what program."""

import os
import sys
from pathlib import Path

import pytest

from exporter.collectors.ebpf.capped import KEPT_SECS
from exporter.collectors.ebpf.elf import BadLibrary
from exporter.collectors.ebpf.functions import (
    FILES,
    LAYOUTS,
    Function,
    FunctionTotals,
    count_functions,
    functions,
    probes_of,
)
from exporter.collectors.ebpf.values import TracedFunction
from exporter.collectors.workloads.values import Workload
from tests.collectors.ebpf.batches import batch

CHOSEN = functions(("mm", "add.Tensor"), ("Trainer.step", "train_step"))
JOB = Workload("ml", "train-0", "main")
UPROBE = "uprobe:/proc/self/fd/7:_PyEval_EvalFrameDefault { }"


@pytest.mark.parametrize(
    ("operator", "prefix"),
    [("mm", "_ZN2at4_ops2mm4callE"), ("add.Tensor", "_ZN2at4_ops10add_Tensor4callE")],
)
def test_an_operator_is_a_symbol_of_any_arguments(operator: str, prefix: str) -> None:
    """An overload is a name of its own."""
    assert Function("torch", operator).prefix == prefix


@pytest.mark.parametrize(
    ("layer", "name", "is_one"),
    [
        ("torch", "libtorch_cpu.so", True),
        ("torch", "libtorch_cuda.so", False),
        ("python", "libpython3.10.so.1.0", True),
        ("python", "python3.13", True),
        ("python", "python3.14", False),
        ("python", "libpython3.13t.so.1.0", False),
        ("python", "python3.9", False),
        ("python", "python3", False),
    ],
)
def test_only_files_of_a_known_form_are_attached_to(layer: str, name: str, is_one: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A frame of another Python would be read at the wrong places."""
    assert (FILES[layer].fullmatch(name) is not None) is is_one


def test_a_program_never_touches_a_return_address() -> None:
    """An exception that passes a return probe ends the program it is in."""
    text = count_functions(CHOSEN, [UPROBE])
    assert "uretprobe" not in text
    assert UPROBE in text


def test_names_of_python_are_whole_where_the_interpreter_knows_them() -> None:
    """Before Python 3.11 a function has its last name only."""
    text = count_functions(CHOSEN, [])
    assert '@qualified["Trainer.step"] = 3;' in text
    assert '@names["step"] = 3;' in text
    assert '"mm"' not in text


def test_an_interpreter_is_read_by_the_layout_of_its_version() -> None:
    """This one, whatever it is; a version that is not known is refused."""
    path = Path(os.path.realpath(sys.executable))
    library = next((path.parent.parent / "lib").glob("libpython3.1?.so.1.0"), path)
    version = sys.version_info.minor
    file = os.open(library, os.O_RDONLY)
    try:
        if version in LAYOUTS:
            (probe,) = probes_of("python", file, f"python3.{version}", CHOSEN)
            assert ("@qualified[" in probe) is (version >= 11)
            assert f"arg1 + {LAYOUTS[version].code})" in probe
        with pytest.raises(BadLibrary, match="known version"):
            probes_of("python", file, "python3.99", CHOSEN)
        with pytest.raises(BadLibrary, match="none of the operators"):
            probes_of("torch", file, "libtorch_cpu.so", CHOSEN)
    finally:
        os.close(file)


def test_calls_are_summed_by_workload() -> None:
    """Batches and all processes add up; numbers that are none of ours are left out."""
    totals = FunctionTotals(CHOSEN)
    totals.take(batch(calls={"10,0": 3, "11,0": 4, "10,3": 1, "10,99": 5}))
    totals.take(batch(calls={"10,0": 2}))
    totals.settle({10: JOB, 11: JOB}, 1.0)
    assert totals.functions() == (
        TracedFunction("torch", "mm", JOB, 9),
        TracedFunction("python", "train_step", JOB, 1),
    )


def test_a_function_that_nobody_calls_is_counted_on() -> None:
    """Its count stays while its workload is there, and goes a while after."""
    totals = FunctionTotals(CHOSEN)
    totals.take(batch(calls={"10,0": 3}))
    for now in (1.0, 2 * KEPT_SECS):
        totals.settle({10: JOB}, now)
        assert totals.functions() == (TracedFunction("torch", "mm", JOB, 3),)
    totals.settle({}, 2 * KEPT_SECS)
    assert totals.functions() == ()
