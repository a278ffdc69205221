"""The one request that is made to Kubernetes: a patch of the status of our own node.

https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/#patch-partially-update-status-of-the-specified-node
"""

import asyncio
import json
import re
import ssl
from pathlib import Path
from typing import Any

import aiohttp

from exporter.config import NodeConditions

REQUEST_SECS = 10.0
MAX_ANSWER_BYTES = 8 * 1024 * 1024
MAX_REFUSAL_BYTES = 4096
MAX_REFUSAL_CHARS = 300
HTTP_OK = 200
STRATEGIC_MERGE = "application/strategic-merge-patch+json"
NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


class PatchRefused(Exception):  # noqa: N818 - an expected answer of the API
    """The node's status could not be patched; the message is one sentence."""


class NodeStatus:
    """Patches the status of one node and of no other."""

    def __init__(self, settings: NodeConditions, node: str) -> None:
        """Take the name of our node; raises ValueError for one that cannot be a node's."""
        if not NODE_NAME.fullmatch(node):
            raise ValueError(f"{node!r} cannot be the name of a node; is NODE_NAME set?")
        self._settings = settings
        self._url = f"{settings.api_server.rstrip('/')}/api/v1/nodes/{node}/status"

    async def patch(self, body: dict[str, Any]) -> dict[str, Any]:
        """The node after the patch; raises PatchRefused."""
        try:
            async with (
                aiohttp.ClientSession(
                    timeout=aiohttp.ClientTimeout(total=REQUEST_SECS),
                    connector=aiohttp.TCPConnector(ssl=self._trust(), force_close=True),
                ) as session,
                session.patch(
                    self._url, json=body, headers=self._headers(), allow_redirects=False
                ) as answer,
            ):
                if answer.status != HTTP_OK:
                    raise PatchRefused(await _refusal(answer))
                if (answer.content_length or 0) > MAX_ANSWER_BYTES:
                    raise PatchRefused("the API answered with too much")
                node = await answer.json(content_type=None)
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as error:
            raise PatchRefused(f"the API cannot be asked: {type(error).__name__}") from error
        if not isinstance(node, dict):
            raise PatchRefused("the API answered without a node")
        return node

    def _headers(self) -> dict[str, str]:
        # Read at each request: Kubernetes renews the token in its file.
        token = Path(self._settings.token_file).read_text("ascii").strip()
        return {"Authorization": f"Bearer {token}", "Content-Type": STRATEGIC_MERGE}

    def _trust(self) -> ssl.SSLContext | bool:
        if not self._settings.ca_file:
            return True
        return ssl.create_default_context(cafile=self._settings.ca_file)


async def _refusal(answer: aiohttp.ClientResponse) -> str:
    """The answer's status and the API's own sentence, which names the right or the policy."""
    said = f"the API answered {answer.status} {answer.reason}"
    try:
        status = json.loads(await answer.content.read(MAX_REFUSAL_BYTES))
    except ValueError:
        return said
    message = status.get("message") if isinstance(status, dict) else None
    return f"{said}: {message[:MAX_REFUSAL_CHARS]}" if isinstance(message, str) else said
