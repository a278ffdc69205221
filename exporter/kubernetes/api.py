"""The only request to the Kubernetes API: a patch of the status of the exporter's own node.

https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/#patch-partially-update-status-of-the-specified-node
"""

import asyncio
import json
import re
import ssl
from http import HTTPStatus
from typing import Any

import aiohttp

from exporter.blocking import CallBlocking
from exporter.config import NodeConditions
from exporter.regular_file import FileUnusable, read_text

REQUEST_SECS = 10.0
MAX_ANSWER_BYTES = 8 * 1024 * 1024
MAX_REFUSAL_BYTES = 4096
MAX_REFUSAL_CHARS = 300
STRATEGIC_MERGE = "application/strategic-merge-patch+json"
MAX_FILE_BYTES = 1024 * 1024
TOKEN = re.compile(r"[!-~]+")
NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


class PatchRefused(Exception):
    """The node's status could not be patched; the message is one sentence."""


class NodeStatus:
    """Patches the status of one node only."""

    def __init__(self, settings: NodeConditions, node: str, call: CallBlocking) -> None:
        """Take the name of the node; raise ValueError for an invalid name."""
        if not NODE_NAME.fullmatch(node):
            raise ValueError(f"{node!r} cannot be the name of a node; is NODE_NAME set?")
        self._settings = settings
        self._call = call
        self._url = f"{settings.api_server.rstrip('/')}/api/v1/nodes/{node}/status"

    async def patch(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the node after the patch; raise PatchRefused."""
        try:
            headers, trust = await self._call(lambda: (self._headers(), self._trust()))
            async with (
                aiohttp.ClientSession(
                    timeout=aiohttp.ClientTimeout(total=REQUEST_SECS),
                    connector=aiohttp.TCPConnector(ssl=trust, force_close=True),
                ) as session,
                session.patch(
                    self._url, json=body, headers=headers, allow_redirects=False
                ) as answer,
            ):
                if answer.status != HTTPStatus.OK:
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
        token = _content("token_file", self._settings.token_file).strip()
        if not TOKEN.fullmatch(token):
            raise PatchRefused("node_conditions.token_file: holds no token")
        return {"Authorization": f"Bearer {token}", "Content-Type": STRATEGIC_MERGE}

    def _trust(self) -> ssl.SSLContext | bool:
        if not self._settings.ca_file:
            return True
        authorities = _content("ca_file", self._settings.ca_file)
        try:
            return ssl.create_default_context(cadata=authorities)
        except (ssl.SSLError, ValueError) as error:
            raise PatchRefused("node_conditions.ca_file: no PEM certificates") from error


def _content(key: str, name: str) -> str:
    """Return the text of a configured file; raise PatchRefused."""
    try:
        return read_text(name, MAX_FILE_BYTES)
    except FileUnusable as error:
        raise PatchRefused(f"node_conditions.{key}: {name}: {error}") from error


async def _refusal(answer: aiohttp.ClientResponse) -> str:
    """Return the status and the API's message, which names the missing permission or the policy."""
    reported = f"the API answered {answer.status} {answer.reason}"
    try:
        status = json.loads(await answer.content.read(MAX_REFUSAL_BYTES))
    except ValueError:
        return reported
    message = status.get("message") if isinstance(status, dict) else None
    return f"{reported}: {message[:MAX_REFUSAL_CHARS]}" if isinstance(message, str) else reported
