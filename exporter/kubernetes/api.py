"""The only requests to the Kubernetes API: about the exporter's own node.

https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/#patch-partially-update-status-of-the-specified-node
https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
"""

import json
import re
from http import HTTPStatus
from typing import Any

from exporter.blocking import CallBlocking
from exporter.config import NodeConditions
from exporter.outgoing import Reply, Request, RequestFailed, content, send, trust_in

REQUEST_SECS = 10.0
MAX_REFUSAL_BYTES = 4096
MAX_REFUSAL_CHARS = 300
STRATEGIC_MERGE = "application/strategic-merge-patch+json"
TOKEN = re.compile(r"[!-~]+")
NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
EVENTS = "namespaces/default/events"
"""Events about objects without a namespace are in the namespace default."""


class NodeApi:
    """Patches the status of one node, and writes Events about it."""

    def __init__(self, settings: NodeConditions, node: str, call: CallBlocking) -> None:
        """Take the name of the node; raise ValueError for an invalid name."""
        if not NODE_NAME.fullmatch(node):
            raise ValueError(f"{node!r} cannot be the name of a node; is NODE_NAME set?")
        self._settings = settings
        self._call = call
        self._node = node

    async def patch(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the node after the patch; raise RequestFailed."""
        reply = await self._send("PATCH", f"nodes/{self._node}/status", STRATEGIC_MERGE, body)
        if not reply.is_ok:
            raise RequestFailed(_refusal(reply))
        try:
            node = json.loads(reply.body)
        except ValueError as error:
            raise RequestFailed("the API answered without JSON") from error
        if not isinstance(node, dict):
            raise RequestFailed("the API answered without a node")
        return node

    async def create_event(self, body: dict[str, Any]) -> None:
        """Write an Event, unless one of its name exists; raise RequestFailed."""
        reply = await self._send("POST", EVENTS, "application/json", body)
        if reply.status not in (HTTPStatus.CREATED, HTTPStatus.CONFLICT):
            raise RequestFailed(_refusal(reply))

    async def _send(self, method: str, path: str, kind: str, body: dict[str, Any]) -> Reply:
        text = json.dumps(body).encode()
        request = await self._call(lambda: self._request(method, path, kind, text))
        return await send(request, "the API", REQUEST_SECS)

    def _request(self, method: str, path: str, kind: str, body: bytes) -> Request:
        # Read at each request: Kubernetes renews the token in its file.
        token = content("node_conditions.token_file", self._settings.token_file).strip()
        if not TOKEN.fullmatch(token):
            raise RequestFailed("node_conditions.token_file: holds no token")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        trust = trust_in("node_conditions.ca_file", self._settings.ca_file)
        url = f"{self._settings.api_server.rstrip('/')}/api/v1/{path}"
        return Request(method, url, headers, body, trust)


def _refusal(reply: Reply) -> str:
    """Return the status and the API's message, which names the missing permission or the policy."""
    reported = f"the API answered {reply.status} {reply.reason}"
    try:
        status = json.loads(reply.body[:MAX_REFUSAL_BYTES])
    except ValueError:
        return reported
    message = status.get("message") if isinstance(status, dict) else None
    return f"{reported}: {message[:MAX_REFUSAL_CHARS]}" if isinstance(message, str) else reported
