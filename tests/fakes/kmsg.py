"""Records as /dev/kmsg gives them."""

import re

UNPRINTABLE = re.compile(rb"[\x00-\x1f\x7f-\xff\\]")


def kmsg_record(text: str, *, sequence: int, stamp: float, prefix: int = 4) -> bytes:
    r"""The record of a text that was printed `stamp` seconds after boot.

    Bytes that are not printable, and `\`, are `\xNN`. The NVIDIA driver marks each of its lines as
    a continuation, also a whole one (nv_printf, kernel-open/nvidia/os-interface.c).
    """
    flag = "c" if text.startswith("NVRM: ") else "-"
    escaped = UNPRINTABLE.sub(lambda byte: rb"\x%02x" % byte[0][0], text.encode()).decode()
    return f"{prefix},{sequence},{int(stamp * 1e6)},{flag};{escaped}\n".encode()
