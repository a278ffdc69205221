"""Drivers of network adapters that answer ethtool commands, as the kernel hands them on."""

import errno
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from exporter.collectors.network.ethtool import (
    DRIVER,
    GET_DRIVER,
    GET_STATISTICS,
    GET_STRINGS,
    STRING_BYTES,
    STRINGS,
    VALUES,
    Ask,
)

Statistics = Mapping[str, int]


class FakeDrivers:
    """Answers for the interfaces of `adapters`: PCI address and statistics, by name."""

    def __init__(self, adapters: Callable[[], Mapping[str, tuple[str, Statistics]]]) -> None:
        self._adapters = adapters

    @contextmanager
    def opened_in(self, _: Path) -> Iterator[Ask]:
        yield self.ask

    def ask(self, name: str, command: bytearray) -> None:
        if name not in self._adapters():
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        address, statistics = self._adapters()[name]
        number, count = struct.unpack_from("=I", command)[0], len(statistics)
        if number == GET_DRIVER:
            words = (b"driver", b"", b"", address.encode(), b"", b"", 0, count, 0, 0, 0)
            DRIVER.pack_into(command, 0, number, *words)
        elif number == GET_STRINGS:
            STRINGS.pack_into(command, 0, number, 1, count)
            names = b"".join(each.encode().ljust(STRING_BYTES, b"\0") for each in statistics)
            command[STRINGS.size : STRINGS.size + len(names)] = names
        else:
            assert number == GET_STATISTICS
            VALUES.pack_into(command, 0, number, count)
            struct.pack_into(f"={count}Q", command, VALUES.size, *statistics.values())


def printed(text: str) -> Statistics:
    """Return the statistics that `ethtool -S` has printed so."""
    lines = (line.rpartition(":") for line in text.splitlines() if ":" in line)
    return {name.strip(): int(number) for name, _, number in lines if number.strip()}
