"""As much of a Kubernetes API as patches of a node's status need, with the rights of manifests."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.fakes.certificates import Authority
from tests.fakes.manifests import Manifest
from tests.serving import serving

TOKEN = "the-token-of-the-pod"


class ApiServer:
    """Remembers the conditions of each node; `folder` is what a pod sees as its account."""

    def __init__(self, folder: Path, manifests: list[Manifest]) -> None:
        self.folder = folder
        self.conditions: dict[str, list[Any]] = {}
        self.port = 0
        self._may_patch = _may_patch_status(manifests)
        folder.mkdir(parents=True)
        (folder / "token").write_text(TOKEN)
        authority = Authority(folder, "ca")
        authority.file.rename(folder / "ca.crt")
        self.pair = authority.sign("server")

    def answer(self, path: str, token: str, body: bytes) -> tuple[int, dict[str, Any]]:
        """What the API says to a patch."""
        if token != f"Bearer {TOKEN}":
            return 401, {"kind": "Status", "message": "Unauthorized"}
        if not self._may_patch:
            return 403, {"kind": "Status", "message": "nodes is forbidden"}
        status = json.loads(body)["status"]
        self.conditions.setdefault(path.split("/")[4], []).extend(status.get("conditions", ()))
        return 200, {"status": status}


@contextmanager
def api_server(folder: Path, manifests: list[Manifest]) -> Iterator[ApiServer]:
    """The API on a port of its own, for as long as the block lasts."""
    api = ApiServer(folder, manifests)

    class Handler(BaseHTTPRequestHandler):
        def do_PATCH(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            code, said = api.answer(self.path, self.headers["Authorization"], body)
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, *_: object) -> None:
            """Not into the output of the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(api.pair.cert, api.pair.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    api.port = server.server_address[1]
    with serving(server):
        yield api


def _may_patch_status(manifests: list[Manifest]) -> bool:
    """Whether a role that allows it is bound to our account."""
    roles = {item["metadata"]["name"]: item for item in manifests if item["kind"] == "ClusterRole"}
    bound = [item["roleRef"]["name"] for item in manifests if item["kind"] == "ClusterRoleBinding"]
    return any(
        "nodes/status" in rule["resources"] and "patch" in rule["verbs"]
        for name in bound
        for rule in roles[name]["rules"]
    )
