"""Which functions a shared library offers: its dynamic symbols, which stripping leaves.

https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html, 64 bits and little-endian only.
The file belongs to somebody else and may change while it is read: it is never mapped. Its owner
chooses how much there is to read: bytes and processor time are bounded, and nothing is kept for
each symbol. The functions here still take a tenth of a second: never call them on the event loop.
"""

import os
import re
import struct
import time
from collections.abc import Callable, Collection, Iterator

MAX_TABLE_BYTES = 2 * 1024 * 1024
MAX_TORCH_TABLE_BYTES = 8 * 1024 * 1024
"""Of one table; bpftrace reads it too. Libraries of CUDA and NCCL have some thousand symbols."""

MAX_SECTIONS = 4096
MAX_SECS = 0.25
"""Of a processor, for one library; the largest tables take about this long."""

_IDENT = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
MAX_REPEATS = 4
"""How often a library may define one function, in versions of it."""

_BETWEEN_LOOKS = 4096
"""Symbols between two looks at the clock."""

_DYNAMIC_SYMBOLS = 11
_REST = r"\w{0,480}"  # nothing else may stand in a program
_FUNCTIONS = (2, 10)  # plain, and chosen when the library is loaded


class BadLibrary(Exception):
    """No functions can be found in the file; the message says why."""


def functions_of(
    descriptor: int, wanted: Collection[str], clock: Callable[[], float] = time.thread_time
) -> frozenset[str]:
    """Return which of these functions the open library defines; raise BadLibrary."""
    tables = _readable_tables(descriptor, MAX_TABLE_BYTES)
    return frozenset(name for name, _ in _matching(tables, wanted, "", clock))


def functions_starting(descriptor: int, prefixes: Collection[str]) -> dict[str, str]:
    """Return, for each beginning, a function of the open library that has it; raise BadLibrary."""
    tables = _readable_tables(descriptor, MAX_TORCH_TABLE_BYTES)
    return dict(_matching(tables, prefixes, _REST, time.thread_time))


def _matching(
    tables: tuple[bytes, bytes],
    beginnings: Collection[str],
    rest: str,
    clock: Callable[[], float],
) -> Iterator[tuple[str, str]]:
    """Yield the functions that the library itself defines: how each begins, and its whole name."""
    symbols, texts = tables
    pattern = re.compile(f"({'|'.join(map(re.escape, beginnings))}){rest}(?=\0)".encode())
    until = clock() + MAX_SECS
    left = MAX_REPEATS * len(beginnings)
    whole = symbols[: len(symbols) - len(symbols) % _SYMBOL.size]
    for number, (place, info, _, section, _, _) in enumerate(_SYMBOL.iter_unpack(whole)):
        if number % _BETWEEN_LOOKS == 0 and clock() > until:
            raise BadLibrary("its symbols take too long to read")
        if section and info & 0xF in _FUNCTIONS and (found := pattern.match(texts, place)):
            left -= 1
            if left < 0:
                raise BadLibrary("it defines the same functions again and again")
            yield found[1].decode("ascii"), found[0].decode("ascii")


def _readable_tables(descriptor: int, most: int) -> tuple[bytes, bytes]:
    try:
        return _tables(descriptor, most)
    except (struct.error, OSError, OverflowError) as error:  # places beyond 63 bits overflow
        raise BadLibrary("its tables cannot be read") from error


def _tables(descriptor: int, most: int) -> tuple[bytes, bytes]:
    """Read the dynamic symbols and the texts of their names."""
    header = os.pread(descriptor, _HEADER.size, 0)
    if not header.startswith(_IDENT):
        raise BadLibrary("it is not a 64-bit ELF file")
    fields = _HEADER.unpack(header)
    start, count = fields[5], fields[11]
    if not 0 < count <= MAX_SECTIONS:
        raise BadLibrary("it has no table of sections")
    sections = list(_SECTION.iter_unpack(os.pread(descriptor, count * _SECTION.size, start)))
    for section in sections:
        kind, link = section[1], section[6]
        if kind == _DYNAMIC_SYMBOLS and link < len(sections):
            return _content(descriptor, section, most), _content(descriptor, sections[link], most)
    raise BadLibrary("it has no dynamic symbols")


def _content(descriptor: int, section: tuple[int, ...], most: int) -> bytes:
    start, size = section[4], section[5]
    if size > most:
        raise BadLibrary(f"it has too many symbols: a table of more than {most} bytes")
    return os.pread(descriptor, size, start)
