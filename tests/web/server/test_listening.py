"""The sockets of the pages: which addresses are listened on, and a port that is taken."""

import socket
from pathlib import Path
from typing import Any

import pytest

from exporter.web.server.listening import is_taken, listening_sockets


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="no IPv6 here")
def test_a_name_of_several_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """All addresses of a name are listened on, those of IPv6 too; a foreign one is left out."""
    addresses = {b"node": ("192.0.2.1", "127.0.0.1", "::1"), b"six": ("::1",)}
    real = socket.getaddrinfo

    def resolve(host: bytes, port: None, **options: Any) -> list[Any]:
        return [each for name in addresses[host] for each in real(name, port, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    for host, bound in (("node", ["127.0.0.1", "::1"]), ("six", ["::1"])):
        sockets = listening_sockets(host, 0, 5)
        assert [sock.getsockname()[0] for sock in sockets] == bound
        assert len({sock.getsockname()[1] for sock in sockets}) == 1
        for sock in sockets:
            sock.close()


def test_a_taken_port_is_an_error() -> None:
    """A port that somebody else listens on is refused, on whichever IP version it is taken."""
    first = listening_sockets("127.0.0.1", 0, 5)
    port = first[0].getsockname()[1]
    for host in ("127.0.0.1", "0.0.0.0"):
        with pytest.raises(OSError, match="in use") as error:
            listening_sockets(host, port, 5)
        assert is_taken(error.value)
    first[0].close()
