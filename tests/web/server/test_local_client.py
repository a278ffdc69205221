"""Who may have the GPUs released: programs of this machine, and what cannot be taken for one."""

import os
import socket
from pathlib import Path

import pytest

from exporter.toml import tomllib
from exporter.web.server.local_client import is_one_user, refusal_of, refusal_of_user, user_of

PATH = "/-/quiesce"
NOBODY = 65534
OTHERS = tomllib.loads(Path(__file__).with_name("hostile.toml").read_text("utf-8"))["other_senders"]


@pytest.mark.parametrize("remote", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8080", "LOCALHOST", "127.0.0.1:8080", "[::1]:8080", "[::1]"]
)
def test_a_program_of_this_machine_is_one(remote: str, host: str) -> None:
    """As curl asks."""
    headers = {"Host": host, "User-Agent": "curl/8.5.0", "Accept": "*/*", "Content-Length": "0"}
    assert refusal_of(remote, PATH, headers, [host]) is None


@pytest.mark.parametrize("remote", ["", "10.0.0.1", "127.0.0.6", "127.0.1.1", "::", "fe80::1%lo"])
def test_another_address_is_refused(remote: str) -> None:
    """127.0.0.6 is what a service mesh passes the requests of others on from."""
    refusal = refusal_of(remote, PATH, [], ["localhost"])
    assert refusal == "only programs on this machine can request this"


@pytest.mark.parametrize("hosts", OTHERS["hosts"])
def test_another_host_is_refused(hosts: list[str]) -> None:
    """A page in a browser that has its own name lead to 127.0.0.1 cannot hide that name."""
    assert refusal_of("127.0.0.1", PATH, [], hosts) == "this must be requested as localhost"


@pytest.mark.parametrize("header", OTHERS["headers"])
def test_what_a_proxy_or_a_browser_adds_is_refused(header: str) -> None:
    """Whatever its value."""
    refusal = refusal_of("127.0.0.1", PATH, ["Host", header], ["localhost"])
    assert refusal == "this cannot be requested through a proxy or from a web page"


@pytest.mark.parametrize("target", ["http://evil.example/-/quiesce", "http://localhost/", "*", ""])
def test_a_target_with_a_host_is_refused(target: str) -> None:
    """As a proxy is asked: the Host header says nothing then."""
    refusal = refusal_of("127.0.0.1", target, ["Host"], ["localhost"])
    assert refusal == "this must be requested as localhost"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be another user")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("uid", [0, NOBODY])
def test_a_forwarder_is_its_user(address: str, uid: int) -> None:
    """Whatever it passes on: the kernel says who holds the other end of the connection."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as listening:
        os.seteuid(uid)
        try:
            client = socket.create_connection(listening.getsockname()[:2])
        finally:
            os.seteuid(0)
        accepted, peer = listening.accept()
        with client, accepted:
            assert user_of(peer[:2], accepted.getsockname()[:2]) == uid
            assert (refusal_of_user(uid) is None) == (uid == 0)


def test_a_connection_that_nobody_holds_is_nobodys() -> None:
    """Of a closed socket the kernel says root; a client that has left is none."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        accepted, peer = listening.accept()
        with accepted:
            ours = accepted.getsockname()
            assert user_of(peer, ours) == os.geteuid()
            client.close()
            assert user_of(peer, ours) is None
            assert refusal_of_user(None) is not None


@pytest.mark.parametrize(
    ("uid", "uid_map", "is_one"),
    [
        (NOBODY, "         0          0 4294967295\n", True),
        (NOBODY, "         0     100000      65536\n", False),
        (NOBODY, "0 1000 1\n1 100000 65536\n", False),
        (0, "         0     100000      65536\n", True),
        (NOBODY, "", False),
        (0, "damaged\n", False),
    ],
)
def test_users_outside_of_our_namespace_are_nobody(
    tmp_path: Path, uid: int, uid_map: str, *, is_one: bool
) -> None:
    """An exporter that runs as nobody in a user namespace takes none of them for itself."""
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "self").mkdir()
    (tmp_path / "sys/kernel/overflowuid").write_text(f"{NOBODY}\n")
    (tmp_path / "self/uid_map").write_text(uid_map)
    assert is_one_user(uid, tmp_path) is is_one
