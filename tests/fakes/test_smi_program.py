"""The fake nvidia-smi as a caller meets it."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.fakes.smi_program import NvidiaSmi

CSV = "--format=csv,noheader,nounits"


def ask(
    smi: NvidiaSmi, fields: str, form: str = CSV, what: str = "gpu", timeout: float = 10
) -> "subprocess.CompletedProcess[str]":
    """One run to its end, in an empty environment."""
    return subprocess.run(
        [smi.path, f"--query-{what}={fields}", form],
        env={},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=timeout,
        check=False,
    )


def start(smi: NvidiaSmi) -> "subprocess.Popen[bytes]":
    """One run that may never end, in a session of its own."""
    return subprocess.Popen(
        [smi.path, "--query-gpu=index", CSV],
        env={},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def test_cards_of_a_capture(nvidia_smi: NvidiaSmi) -> None:
    """The same descriptions that drive the library are said in nvidia-smi's units and words."""
    nvidia_smi.say(capture="h100x8.scenario")
    fields = "index,name,pci.bus_id,memory.total,memory.free,power.draw,pci.bus,fan.speed"
    rows = ask(nvidia_smi, fields).stdout.splitlines()
    assert len(rows) == 8
    assert rows[1] == (
        "1, NVIDIA H100 80GB HBM3, 00000000:2A:00.0, 81559, 7996, 654.02, 0x2A, [N/A]"
    )


def test_header_and_units(nvidia_smi: NvidiaSmi) -> None:
    """Without noheader and nounits both are there, as the real program writes them."""
    nvidia_smi.say("count = 1", "power = 71059", "clock.sm = 1980", "memory_used = 3 MiB")
    done = ask(nvidia_smi, "power.draw,clocks.sm,memory.used,pstate", "--format=csv")
    assert done.stdout.splitlines() == [
        "power.draw [W], clocks.sm [MHz], memory.used [MiB], pstate",
        "71.05 W, 1980 MHz, 3 MiB, [N/A]",
    ]


WORDED = [
    ("ecc_mode = 1", "ecc.mode.current", "Enabled"),
    ("ecc.uncorrected.aggregate = 3", "ecc.errors.uncorrected.aggregate.total", "3"),
    ("ecc.corrected.volatile.dram = 4", "ecc.errors.corrected.volatile.device_memory", "4"),
    (
        "sram.threshold_exceeded = 0",
        "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded",
        "No",
    ),
    ("remapped_rows.pending = 1", "remapped_rows.pending", "Yes"),
    ("retired_pages.double_bit = 0x1 0x2", "retired_pages.dbe", "2"),
    ("retired_pages.double_bit =", "retired_pages.dbe", "0"),
    ("clock_reasons = 0x44", "clocks_event_reasons.hw_thermal_slowdown", "Active"),
    ("clock_reasons = 0x44", "clocks_throttle_reasons.sw_power_cap", "Active"),
    ("clock_reasons = 0x44", "clocks_event_reasons.hw_slowdown", "Not Active"),
    ("clock_reasons = 0x44", "clocks_event_reasons.active", "0x0000000000000044"),
    ("violation.power = 221310321999", "clocks_event_reasons_counters.sw_power_cap", "221310321"),
    ("performance_state = 8", "pstate", "P8"),
    ("compute_mode = 3", "compute_mode", "Exclusive_Process"),
    ("pci_device_id = 0x233010de", "pci.device_id", "0x233010DE"),
    ("recovery_action = 1", "gpu_recovery_action", "Reset"),
    ("margin_temperature = -3", "temperature.gpu.tlimit", "-3"),
    ("driver_version = 550.54", "driver_version", "550.54"),
]


def test_words(nvidia_smi: NvidiaSmi) -> None:
    """Each property is worded as the real program does."""
    said = {}
    for lines, field, _ in WORDED:
        nvidia_smi.say("count = 1", lines)
        said[lines, field] = ask(nvidia_smi, field).stdout.strip()
    assert said == {(lines, field): word for lines, field, word in WORDED}


ERRORS = [
    ("error 3", "[N/A]"),
    ("error 4", "[Insufficient Permissions]"),
    ("error 15", "[GPU is lost]"),
    ("error 16", "[GPU requires reset]"),
    ("error 999", "[Unknown Error]"),
]


@pytest.mark.parametrize(("fault", "token"), ERRORS)
def test_a_field_that_fails(nvidia_smi: NvidiaSmi, fault: str, token: str) -> None:
    """The fault of one field of one card stands in its cell and nowhere else."""
    nvidia_smi.say("count = 2", "temperature = 40", f"device.0.temperature = {fault}")
    assert ask(nvidia_smi, "index,temperature.gpu").stdout == f"0, {token}\n1, 40\n"


def test_any_bytes_in_any_column(nvidia_smi: NvidiaSmi) -> None:
    """A column can be overridden, the spelling of absence and the line ends chosen."""
    nvidia_smi.say(
        "count = 1",
        "smi.power.draw = 1,5 W",
        "name = hex 41ff0a42",
        "smi.absent = [Not Supported]",
        "smi.crlf = 1",
    )
    done = ask(nvidia_smi, "power.draw,name,fan.speed")
    assert done.stdout == "1,5 W, A\udcff\nB, [Not Supported]\n"


def test_an_unknown_field_ends_the_query(nvidia_smi: NvidiaSmi) -> None:
    """One unknown field costs everything, with exit status 2; fields can be taken away."""
    nvidia_smi.say("count = 1", "smi.unknown_fields = power.draw.instant")
    done = ask(nvidia_smi, "index,power.draw.instant")
    assert (done.returncode, done.stdout) == (
        2,
        'Field "power.draw.instant" is not a valid field to query.\n\n',
    )
    assert ask(nvidia_smi, "index,device_minor").returncode == 2
    assert ask(nvidia_smi, "index").returncode == 0


@pytest.mark.parametrize(
    ("lines", "status", "sentence"),
    [
        ("count = 0", 6, "No devices were found"),
        ("init = error 9", 9, "couldn't communicate with the NVIDIA driver"),
        ("init = error 12", 12, "couldn't find libnvidia-ml.so library"),
        ("init = error 18", 18, "Driver/library version mismatch"),
        ("init = error 4", 4, "Insufficient Permissions"),
        ("init = error 999", 255, "Unknown Error"),
    ],
)
def test_nothing_works(nvidia_smi: NvidiaSmi, lines: str, status: int, sentence: str) -> None:
    """A driver that does not work is one sentence on standard output and an exit status."""
    nvidia_smi.say("count = 1", lines)
    done = ask(nvidia_smi, "index")
    assert done.returncode == status
    assert sentence in done.stdout


def test_a_good_row_before_a_lost_card(nvidia_smi: NvidiaSmi) -> None:
    """Rows before a lost card are good, its place has a sentence, and the status is 15."""
    nvidia_smi.say("count = 3", "bus_id = 00000000:0{device}:00.0", "device.1.any = error 15")
    done = ask(nvidia_smi, "index")
    assert done.returncode == 15
    row, sentence = done.stdout.splitlines()
    assert row == "0"
    assert sentence.startswith("Unable to determine the device handle for GPU1: 0000:01:00.0: ")
    assert sentence.endswith("GPU is lost.  Reboot the system to recover this GPU")


def test_compute_apps(nvidia_smi: NvidiaSmi) -> None:
    """One row per compute process, with what is known of it."""
    nvidia_smi.say(
        "count = 3",
        "uuid = GPU-{device}",
        "device.0.compute_processes = 100:2097152 101:na",
        "process.100.name = python, the snake",
        "compute_processes =",
        "device.2.compute_processes = error 4",
    )
    done = ask(nvidia_smi, "gpu_uuid,pid,process_name,used_memory", what="compute-apps")
    assert done.stdout.splitlines() == [
        "GPU-0, 100, python, the snake, 2",
        "GPU-0, 101, [Not Found], [N/A]",
        "GPU-2, [Insufficient Permissions], [Insufficient Permissions], [Insufficient Permissions]",
    ]


def test_a_status_and_a_last_line_of_its_own(nvidia_smi: NvidiaSmi) -> None:
    """Complete data may come with a warning and a status that is not 0."""
    nvidia_smi.say("count = 1", "smi.trailer = WARNING: infoROM is corrupted", "smi.exit = 14")
    done = ask(nvidia_smi, "index")
    assert (done.returncode, done.stdout) == (14, "0\nWARNING: infoROM is corrupted\n")


def test_every_second_run_fails(nvidia_smi: NvidiaSmi) -> None:
    """Runs are counted across processes, from the last change of the scenario on."""
    nvidia_smi.say("count = 1", "smi = exit 9 every 2", "temperature = 40,41")
    runs = [ask(nvidia_smi, "temperature.gpu") for _ in range(4)]
    assert [(run.returncode, run.stdout) for run in runs] == [
        (0, "40\n"),
        (9, ""),
        (0, "41\n"),
        (9, ""),
    ]


def test_it_tells_what_it_was_asked(nvidia_smi: NvidiaSmi) -> None:
    """Arguments and environment of each run are there to be asserted."""
    nvidia_smi.say("count = 1")
    subprocess.run(
        [str(nvidia_smi.path), "--query-gpu=index", CSV], env={"LC_ALL": "C"}, check=True
    )
    (run,) = nvidia_smi.runs()
    assert run.arguments[1:] == ("--query-gpu=index", CSV)
    assert run.environment == {"LC_ALL": "C"}


def test_a_recorded_output_is_printed(nvidia_smi: NvidiaSmi, tmp_path: Path) -> None:
    """`print_file` and `exit` together replay a file with a status."""
    output = tmp_path / "output"
    output.write_bytes(b"0, good\nbad")
    nvidia_smi.say(f"smi.1 = print_file {output}", "smi.2 = exit 15")
    done = ask(nvidia_smi, "index")
    assert (done.returncode, done.stdout) == (15, "0, good\nbad")


def test_hanging_and_ignoring_sigterm(nvidia_smi: NvidiaSmi) -> None:
    """A run that hangs and ignores SIGTERM ends at SIGKILL and at nothing else."""
    nvidia_smi.say("count = 1", "smi.1 = print ready", "smi.2 = ignore 15", "smi.3 = hang")
    with start(nvidia_smi) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        process.terminate()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        process.kill()
        assert process.wait(5) == -signal.SIGKILL


@pytest.mark.parametrize("word", ["child", "detached"])
def test_a_child_that_holds_the_pipe(nvidia_smi: NvidiaSmi, word: str) -> None:
    """The program ends, its child keeps the pipe open; detached it is in another session."""
    nvidia_smi.say("count = 1", f"smi = {word} 0.5")
    started = time.monotonic()
    with start(nvidia_smi) as process:
        assert process.wait(5) == 0
        assert time.monotonic() - started < 0.4
        if word == "child":
            os.killpg(process.pid, signal.SIGKILL)
        assert process.stdout is not None
        assert process.stdout.read() == b"0\n"
    assert (time.monotonic() - started < 0.4) == (word == "child")


@pytest.mark.parametrize(("word", "stream"), [("flood 1", "stdout"), ("flood_line 2", "stderr")])
def test_floods(nvidia_smi: NvidiaSmi, word: str, stream: str) -> None:
    """Output without end on either stream, in lines or in one."""
    nvidia_smi.say("count = 1", f"smi = {word}")
    with start(nvidia_smi) as process:
        block = getattr(process, stream).read(1_000_000)
        process.kill()
    assert len(block) == 1_000_000
    assert (b"\n" in block) == (word == "flood 1")


def test_a_slow_drip(nvidia_smi: NvidiaSmi) -> None:
    """The answer comes byte by byte at the rate that is said."""
    nvidia_smi.say("count = 1", "smi.absent = 12345678", "smi.drip = 100")
    started = time.monotonic()
    assert ask(nvidia_smi, "power.draw").stdout == "12345678\n"
    assert time.monotonic() - started >= 0.09


def test_a_death_by_signal(nvidia_smi: NvidiaSmi) -> None:
    """A crash is a negative return code."""
    nvidia_smi.say("count = 1", "smi = segv")
    assert ask(nvidia_smi, "index").returncode == -signal.SIGSEGV
