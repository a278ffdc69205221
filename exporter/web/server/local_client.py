"""Tells whether a request comes from a program on this machine, without a proxy."""

import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

LOOPBACK = ("127.0.0.1", "::1", "::ffff:127.0.0.1")
"""Not all of 127/8: sidecars of service meshes forward remote requests from 127.0.0.6."""

HOSTS = ("localhost", "127.0.0.1", "[::1]")
HEADERS = frozenset(
    {
        *("host", "user-agent", "accept", "accept-encoding", "authorization", "connection"),
        *("content-length", "content-type"),
    }
)
"""Headers that curl, wget and libraries send; proxies and browsers add others."""

ROOT = 0
EVERY_USER = 2**32 - 1
"""The number of user ids that are mapped where there is no user namespace."""

_MESSAGE = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI2s2s16s16sIQ")  # inet_diag_req_v2, with its inet_diag_sockid
_ANSWER = struct.Struct("=BBBB48sIIIII")  # inet_diag_msg
_GET_ONE, _REQUEST_FLAG, _ANY_COOKIE, _ESTABLISHED = 20, 1, 2**64 - 1, 1
_NETLINK_SOCK_DIAG = 4
_NETLINK_SECS = 1.0


def refusal_of(
    remote: str, target: str, headers: Iterable[str], hosts: Iterable[str]
) -> str | None:
    """Return why a request is not from a program on this machine; None if it is.

    `target` is that of the request line, `headers` are the names, in any case, and `hosts` the
    values of the Host header: exactly one, which a page in a browser cannot choose.
    """
    if remote.partition("%")[0] not in LOOPBACK:
        return "only programs on this machine can request this"
    if not target.startswith("/") or [_name_of(host) for host in hosts] not in [
        [name] for name in HOSTS
    ]:
        return "this must be requested as localhost"
    if not {name.lower() for name in headers} <= HEADERS:
        return "this cannot be requested through a proxy or from a web page"
    return None


def refusal_of_user(uid: int | None) -> str | None:
    """Return why a program of this user may not send requests; None if it may.

    A forwarder such as sshd counts as the user of its process.
    """
    if uid in (ROOT, os.geteuid()):
        return None
    return "only programs of root can request this"


def user_of(peer: tuple[str, int], ours: tuple[str, int]) -> int | None:
    """Return the user id of the other end of a connection on this machine.

    None if the socket is not in our network namespace, is closed, or the kernel does not answer.
    Uses NETLINK_SOCK_DIAG (https://man7.org/linux/man-pages/man7/sock_diag.7.html). The kernel
    reports root for an orphaned socket, so the socket must have an inode.
    """
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(_NETLINK_SECS)
            kernel.send(_question(peer, ours))
            answer = kernel.recv(4096)
            kind = _MESSAGE.unpack_from(answer)[1]
            if kind != _GET_ONE:
                return None
            _, state, _, _, _, _, _, _, uid, inode = _ANSWER.unpack_from(answer, _MESSAGE.size)
    except (OSError, ValueError, struct.error):
        return None
    return int(uid) if state == _ESTABLISHED and inode and is_one_user(uid) else None


def is_one_user(uid: int, proc: Path = Path("/proc")) -> bool:
    """Return whether the id is of one user, not of all that our user namespace does not map.

    The kernel reports those as nobody, who may be our own user (user_namespaces(7)).
    """
    try:
        nobody = int((proc / "sys/kernel/overflowuid").read_text("ascii"))
        ranges = (proc / "self/uid_map").read_text("ascii").splitlines()
        mapped = sum(int(row.split()[2]) for row in ranges)
    except (OSError, ValueError, IndexError):
        return False
    return uid != nobody or mapped >= EVERY_USER


def _question(peer: tuple[str, int], ours: tuple[str, int]) -> bytes:
    """Encode the sock_diag request for the socket whose own end is `peer`."""
    family = socket.AF_INET6 if ":" in peer[0] else socket.AF_INET
    ends = [struct.pack(">H", port) for _, port in (peer, ours)]
    addresses = [socket.inet_pton(family, address) for address, _ in (peer, ours)]
    body = _REQUEST.pack(
        *(family, socket.IPPROTO_TCP, 0, 2**32 - 1),
        *(*ends, *(address.ljust(16, b"\0") for address in addresses), 0, _ANY_COOKIE),
    )
    return _MESSAGE.pack(_MESSAGE.size + len(body), _GET_ONE, _REQUEST_FLAG, 0, 0) + body


def _name_of(host: str) -> str:
    """Return the host without its port, in lower case."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() and not host.endswith("]") else host.lower()
