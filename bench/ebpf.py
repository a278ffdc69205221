"""What counting calls in the kernel costs the program that makes them, and the node.

`python -m bench.ebpf` prints it; docs/ebpf.md has the figures.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.figures import Figure, table
from bench.processes import MIB, own_cpu_secs, pss_bytes
from tests.fakes.native import CUDART, build_calls, build_cudart
from tests.program import Program, wait_for

RUNS = 5
CALLS = 1_000_000
STEADY_SECS = 20.0


def seconds_of_call(folder: Path) -> float:
    """Let a program make empty calls; the processor time of one, whoever else is running."""
    words = [str(build_calls() / "calls"), str(build_cudart() / CUDART), "1", str(folder / "go")]
    spent = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*words, f"cudaFree:{CALLS}:0"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(spent) / CALLS


def figures(folder: Path) -> Iterator[Figure]:
    """Measure the same program without and with bpftrace attached."""
    (folder / "go").touch()
    empty = seconds_of_call(folder)
    words = [str(build_calls() / "calls"), str(build_cudart() / CUDART), "1"]
    settings = {"ebpf": {"enabled": True}}
    with Program(folder / "exporter", settings) as program, _held(words, folder) as held:
        text = f'hw_call_libraries{{node="{os.uname().nodename}"}} 1\n'
        wait_for(lambda: text in program.get("/metrics").text, "to attach", 60)
        (tracer,) = program.child_pids()
        counted = seconds_of_call(folder)
        pids = (tracer, program.process.pid)
        spent, began = sum(map(own_cpu_secs, pids)), time.monotonic()
        time.sleep(STEADY_SECS)
        share = (sum(map(own_cpu_secs, pids)) - spent) / (time.monotonic() - began)
        memory = pss_bytes(tracer) / MIB
        held.kill()
    more = counted - empty
    yield Figure("an empty call", empty * 1e6, "µs")
    yield Figure("an empty call that is counted", counted * 1e6, "µs")
    yield Figure("more for each call", more * 1e6, "µs")
    yield Figure("of a core, at 100,000 calls a second", more * 1e5 * 100, "%")
    yield Figure("of a core, at 5,000 calls a second", more * 5e3 * 100, "%")
    yield Figure("bpftrace and exporter between calls", share * 100, "% of a core")
    yield Figure("memory of bpftrace", memory, "MiB")


def _held(words: list[str], folder: Path) -> "subprocess.Popen[bytes]":
    """Start a program that maps the library and waits for ever."""
    return subprocess.Popen([*words, str(folder / "never"), "sleep:1"])


def main() -> None:
    """Print the figures."""
    argparse.ArgumentParser(prog="python -m bench.ebpf", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="hw-bench-") as folder:
        print(table(list(figures(Path(folder)))))


if __name__ == "__main__":
    main()
