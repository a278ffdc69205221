"""The invented host trees are shaped like the real ones."""

from pathlib import Path

from tests.fakes import host_proc


def test_a_process_has_the_fields_of_a_real_one() -> None:
    """The invented /proc/PID/stat has as many fields as the running kernel's."""
    real = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    assert len(host_proc.process_stat(7, "a b").rpartition(")")[2].split()) == len(real)
