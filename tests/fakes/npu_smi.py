"""A program that prints what npu-smi prints, written from public recordings of its tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

WIDTH = 98
BORDER = f"+{'=' * 27}+{'=' * 15}+{'=' * 52}+"
LINE = f"+{'-' * (WIDTH - 2)}+"
HEAD_LINE = BORDER.replace("=", "-")


@dataclass(frozen=True, slots=True)
class Chip:
    """One chip as the tables show it; `numbers` are its own on the card, then that of the node."""

    card: int
    name: str
    numbers: str
    bus: str
    power: str = "178.8"
    celsius: int = 36
    cores: int = 0
    memory: str = "0    / 0"
    hbm: str | None = "3397 / 65536"
    health: str = "OK"

    def rows(self) -> str:
        """Both rows of the chip."""
        third = f"{self.cores:<12}{self.memory:<18}{self.hbm or ''}"
        return _row(
            f"{self.card:<6}{self.name}", self.health, f"{self.power:<12}{self.celsius:<18}0    / 0"
        ) + _row(f"{self.numbers}", self.bus, third)


A3 = (
    Chip(0, "Ascend910", "0     0", "0000:9D:00.0"),
    Chip(0, "Ascend910", "1     1", "0000:9F:00.0", power="-", hbm="3186 / 65536"),
)
"""Two chips of one card of an Atlas A3: the second measures no power of its own."""

B3 = tuple(
    Chip(card, "910B3", "0", f"0000:{0xC1 + card:02X}:00.0", power="91.0", cores=12)
    for card in range(8)
)
"""Eight cards with one chip each; this version prints no number of the node."""

DUO = tuple(
    Chip(
        card,
        "310P3",
        f"{chip}     {2 * card + chip}",
        f"0000:{card + 1:02d}:00.0",
        power="NA",
        celsius=45 + chip,
        memory="1448 / 44278",
        hbm=None,
    )
    for card in range(2)
    for chip in range(2)
)
"""Two cards with two chips at one address each, without HBM."""


def tables(chips: Sequence[Chip], processes: Sequence[tuple[int, int, int, str, int]] = ()) -> str:
    """Both tables; a process is card, chip, pid, name and memory in MiB."""
    has_hbm = any(chip.hbm for chip in chips)
    third = "AICore(%)   Memory-Usage(MB)" + ("  HBM-Usage(MB)" if has_hbm else "")
    text = f"{LINE}\n|{' npu-smi 25.2.1':<34}{'Version: 25.2.1':<{WIDTH - 36}}|\n{HEAD_LINE}\n"
    text += _row("NPU   Name", "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)")
    text += _row("Chip  Phy-ID", "Bus-Id", third) + f"{BORDER}\n"
    text += f"{LINE}\n".join(chip.rows() for chip in chips) + f"{BORDER}\n"
    text += f"{LINE}\n" + _process_row(
        "NPU     Chip", "Process id", "Process name", "Process memory(MB)"
    )
    text += f"{BORDER}\n"
    busy = {process[0] for process in processes}
    for card, chip, pid, name, memory in processes:
        text += _process_row(f"{card:<8}{chip}", str(pid), name, str(memory))
    for card in sorted({chip.card for chip in chips} - busy):
        text += f"|{f' No running processes found in NPU {card}':<{WIDTH - 2}}|\n"
    return text + f"{BORDER}\n"


def _row(first: str, second: str, third: str) -> str:
    return f"| {first:<26}| {second:<14}| {third:<51}|\n"


def _process_row(first: str, second: str, third: str, fourth: str) -> str:
    return f"| {first:<26}| {second:<14}| {third:<25}| {fourth:<24}|\n"


class NpuNode:
    """A root with the device node of the driver, and a folder with the program."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.bin = folder / "ascend/bin"
        self.bin.mkdir(parents=True)
        (folder / "dev").mkdir()
        (folder / "dev/davinci_manager").touch()
        (folder / "sys/devices").mkdir(parents=True, exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        """Where the program is found."""
        return {"PATH": f"{self.bin}:/usr/bin:/bin"}

    def prints(self, text: str, *, code: int = 0, errors: str = "") -> None:
        """The program prints this and ends."""
        (self.bin / "output").write_text(text, "utf-8")
        (self.bin / "errors").write_text(errors, "utf-8")
        self.runs(f'cat "{self.bin}/output"; cat "{self.bin}/errors" >&2; exit {code}')

    def runs(self, script: str) -> None:
        """The program does this; each run leaves its arguments in a file."""
        program = self.bin / "npu-smi.new"
        program.write_text(f'#!/bin/sh\necho "$@" >> "{self.bin}/runs"\n{script}\n', "utf-8")
        program.chmod(0o755)
        program.rename(self.bin / "npu-smi")

    @property
    def run_count(self) -> int:
        """How often the program was run."""
        file = self.bin / "runs"
        return len(file.read_text().splitlines()) if file.exists() else 0
