"""Serves one directory over /dev/fuse whose files never answer, fail, or hold a text.

Runs as a process of its own: one that waited for a file it serves itself could never be ended.
Takes one JSON command per line on standard input, answers each with one JSON line, and leaves
when standard input ends; leaving aborts every request that still waits.
The protocol is that of Linux' include/uapi/linux/fuse.h.
"""

import ctypes
import errno
import json
import os
import select
import stat
import struct
import sys
from dataclasses import dataclass, field
from typing import Any

IN_HEADER = struct.Struct("<IIQQIIIHH")
OUT_HEADER = struct.Struct("<IiQ")
ROOT = 1
MS_NOSUID_NODEV = 2 | 4
MNT_DETACH = 2
FOPEN_DIRECT_IO = 1  # so that every read reaches us, whatever size the file claims
CAP_SYS_ADMIN = 21
NVME_IOCTL_ADMIN_CMD = 0xC0484E41
ADMIN_COMMAND = struct.Struct("<BBH3I2Q2I")  # struct nvme_admin_cmd as far as its data_len

OPERATIONS = {
    1: "lookup",
    3: "getattr",
    14: "open",
    15: "read",
    16: "write",
    17: "statfs",
    18: "release",
    25: "flush",
    26: "init",
    27: "opendir",
    28: "readdir",
    29: "releasedir",
    34: "access",
    39: "ioctl",
}
SILENT = {2, 36, 42}  # forget, interrupt, batch forget: no answer is expected


@dataclass(slots=True)
class File:
    """One file: what it holds, which operations never end and which fail with an errno."""

    node: int
    text: bytes = b""
    hanging: set[str] = field(default_factory=set)
    failing: dict[str, int] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    log_page: bytes = b""


class Server:
    """Answers the kernel's requests for one mounted directory."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.files: dict[str, File] = {"/": File(ROOT)}
        self._asker = 0

    def command(self, name: str, **change: Any) -> dict[str, int]:
        """Change or make a file; the answer tells how many requests wait for it."""
        file = self.files.setdefault(name, File(ROOT + len(self.files)))
        if "text" in change:
            file.text = change["text"].encode()
        file.log_page = bytes.fromhex(change.get("log_page", "")) or file.log_page
        file.hanging |= set(change.get("hang", ()))
        file.failing |= change.get("fail", {})
        if change.get("release"):
            file.hanging.clear()
            for unique in file.waiting:
                self._reply(unique, errno.EIO)
            file.waiting.clear()
        return {"waiting": len(file.waiting)}

    def serve_one(self) -> None:
        """Read one request and answer it, or keep it waiting."""
        try:
            request = os.read(self.device, 1 << 18)
        except OSError:  # the request was withdrawn before it was read
            return
        _, code, unique, node, _, _, self._asker, *_ = IN_HEADER.unpack_from(request)
        body = request[IN_HEADER.size :]
        name = OPERATIONS.get(code, "")
        if code in SILENT:
            return
        file = self._file_of(name, node, body)
        if name and file is None:
            self._reply(unique, errno.ENOENT)
        elif file is not None and name in file.hanging:
            file.waiting.append(unique)
        elif file is not None and name in file.failing:
            self._reply(unique, file.failing[name])
        else:
            answer = getattr(self, f"_{name}", None) if file is not None else None
            self._reply(
                unique, 0 if answer else errno.ENOSYS, answer(file, body) if answer else b""
            )

    def _file_of(self, operation: str, node: int, body: bytes) -> File | None:
        if operation == "lookup":
            return self.files.get(body.rstrip(b"\0").decode())
        wanted = node or ROOT  # the first request of all speaks of no file
        return next((file for file in self.files.values() if file.node == wanted), None)

    def _reply(self, unique: int, error: int, body: bytes = b"") -> None:
        try:
            os.write(
                self.device, OUT_HEADER.pack(OUT_HEADER.size + len(body), -error, unique) + body
            )
        except FileNotFoundError:  # who asked is gone
            return

    def _attributes(self, file: File) -> bytes:
        directory = file.node == ROOT
        mode = stat.S_IFDIR | 0o755 if directory else stat.S_IFREG | 0o644
        size = 0 if directory else len(file.text)
        return struct.pack(
            "<6Q10I", file.node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
        )

    def _init(self, file: File, body: bytes) -> bytes:
        del file, body
        return struct.pack("<4I2H2I2H8I", 7, 31, 1 << 16, 0, 16, 12, 1 << 16, 1, 1, 0, *[0] * 8)

    def _lookup(self, file: File, body: bytes) -> bytes:
        del body
        return struct.pack("<4Q2I", file.node, 0, 0, 0, 0, 0) + self._attributes(file)

    def _getattr(self, file: File, body: bytes) -> bytes:
        del body
        return struct.pack("<Q2I", 0, 0, 0) + self._attributes(file)

    def _open(self, file: File, body: bytes) -> bytes:
        del body
        return struct.pack("<Q2I", file.node, FOPEN_DIRECT_IO, 0)

    _opendir = _open

    def _read(self, file: File, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        return file.text[offset : offset + size]

    def _write(self, file: File, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        file.text = file.text[:offset] + body[40 : 40 + size]
        return struct.pack("<2I", size, 0)

    def _ioctl(self, file: File, body: bytes) -> bytes:
        """An admin command to an NVMe disk: its log page goes where the caller wants it."""
        _, _, number, _, in_size, _ = struct.unpack_from("<Q2IQ2I", body)
        if number != NVME_IOCTL_ADMIN_CMD:
            return struct.pack("<i3I", -errno.ENOTTY, 0, 0, 0)
        command = body[32 : 32 + in_size]
        *_, address, _, size = ADMIN_COMMAND.unpack_from(command)
        status = open(f"/proc/{self._asker}/status").read()  # noqa: PTH123, SIM115 - bare start
        (rights,) = (line.split()[1] for line in status.splitlines() if line[:6] == "CapEff")
        if not int(rights, 16) >> CAP_SYS_ADMIN & 1:
            return struct.pack("<i3I", -errno.EACCES, 0, 0, 0)
        with open(f"/proc/{self._asker}/mem", "r+b", buffering=0) as memory:  # noqa: PTH123
            memory.seek(address)
            memory.write(file.log_page[:size])
        return struct.pack("<i3I", 0, 0, 0, 0) + command

    def _readdir(self, file: File, body: bytes) -> bytes:
        del file
        _, offset, size = struct.unpack_from("<QQI", body)
        listing = b""
        names = [name for name in self.files if name != "/"]
        for number, name in enumerate(names[offset:], start=offset + 1):
            entry = struct.pack("<2Q2I", self.files[name].node, number, len(name), 8)
            entry += name.encode()
            entry += b"\0" * (-len(entry) % 8)
            if len(listing) + len(entry) > size:
                break
            listing += entry
        return listing

    def _statfs(self, file: File, body: bytes) -> bytes:
        del file, body
        return struct.pack("<5Q10I", 1000, 500, 500, 100, 50, 4096, 255, 4096, *[0] * 7)

    def _nothing(self, file: File, body: bytes) -> bytes:
        del file, body
        return b""

    _release = _releasedir = _flush = _access = _nothing


def mount(folder: str) -> int:
    """Mount an empty FUSE directory and give its device's descriptor; raises OSError."""
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"stuck", folder.encode(), b"fuse", MS_NOSUID_NODEV, options) != 0:
        raise OSError(ctypes.get_errno(), "mount", folder)
    return device


def main(folder: str) -> None:
    """Mount, say ready, and serve until standard input ends."""
    try:
        server = Server(mount(folder))
    except OSError as error:
        print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201 - the way to the test
        return
    print(json.dumps({"waiting": 0}), flush=True)  # noqa: T201 - the way to the test
    try:
        serve(server)
    finally:  # a mount whose server is gone would stay for ever
        ctypes.CDLL(None).umount2(folder.encode(), MNT_DETACH)


def serve(server: Server) -> None:
    """Answer the kernel and the test until standard input ends."""
    with open(0, "rb", buffering=0) as commands:
        while True:
            ready, _, _ = select.select([server.device, commands.fileno()], [], [])
            if server.device in ready:
                server.serve_one()
            if commands.fileno() in ready:
                line = commands.readline()
                if not line:
                    break
                answer = server.command(**json.loads(line))
                print(json.dumps(answer), flush=True)  # noqa: T201 - the way to the test


if __name__ == "__main__":
    main(sys.argv[1])
