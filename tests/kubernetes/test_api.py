"""The request to the API, against a server that speaks as one."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter.blocking import DaemonThreads
from exporter.config import NodeConditions
from exporter.kubernetes.api import NodeApi
from exporter.outgoing import RequestFailed
from tests.fakes.certificates import Authority

TOKEN = "the-token-of-the-pod"


class _Api:
    """Answers every request with a status and a body, and remembers it."""

    def __init__(self, folder: Path, *, has_ids: bool = True) -> None:
        self.authority = Authority(folder, has_ids=has_ids)
        self.token_file = folder / "token"
        self.token_file.write_text(TOKEN)
        self.answer: tuple[int, str] = (200, '{"status": {"conditions": []}}')
        self.requests: list[tuple[str, str, str, Any]] = []
        self.port = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        said = (request.headers["Authorization"], request.headers["Content-Type"])
        self.requests.append((f"{request.method} {request.path}", *said, await request.json()))
        status, text = self.answer
        return web.Response(
            status=status,
            text=text,
            headers={"Location": f"https://127.0.0.1:{self.port}/elsewhere"},
        )

    def settings(self) -> NodeConditions:
        return NodeConditions(
            api_server=f"https://127.0.0.1:{self.port}",
            token_file=str(self.token_file),
            ca_file=str(self.authority.file),
        )


@asynccontextmanager
async def _serving(folder: Path, *, has_ids: bool = True) -> AsyncIterator[_Api]:
    api = _Api(folder, has_ids=has_ids)
    pair = api.authority.sign("server")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.cert, pair.key)
    server = web.Server(api.handle)
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(server, "127.0.0.1", 0, ssl=context)
    api.port = listening.sockets[0].getsockname()[1]
    try:
        yield api
    finally:
        listening.close()
        await server.shutdown(0.1)


async def _refusal(settings: NodeConditions) -> str:
    """Why a patch of the node fails."""
    with pytest.raises(RequestFailed) as caught:
        await NodeApi(settings, "n1", DaemonThreads()).patch({"status": {}})
    return str(caught.value)


async def test_the_status_of_our_own_node_is_patched(tmp_path: Path) -> None:
    """One PATCH of our node's status, merged by type, with the token as it is in its file now."""
    async with _serving(tmp_path) as api:
        status = NodeApi(api.settings(), "gpu-node-7.example", DaemonThreads())
        await status.patch({"status": {}})
        api.token_file.write_text(f"{TOKEN}-renewed\n")
        assert await status.patch({"status": {}}) == {"status": {"conditions": []}}
    merge = "application/strategic-merge-patch+json"
    path = "PATCH /api/v1/nodes/gpu-node-7.example/status"
    assert api.requests == [
        (path, f"Bearer {TOKEN}", merge, {"status": {}}),
        (path, f"Bearer {TOKEN}-renewed", merge, {"status": {}}),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        (403, "{}"),
        (404, "[]"),
        (409, "{}"),
        (500, ""),
        (302, ""),
        (307, ""),
        (308, ""),
        (200, "no JSON"),
        (200, ""),
    ],
)
async def test_other_answers_are_refusals(answer: tuple[int, str], tmp_path: Path) -> None:
    """Whatever the API answers but the node, it is one sentence that holds no token.

    A redirect is not followed: the token goes to the API server and nowhere else.
    """
    async with _serving(tmp_path) as api:
        api.answer = answer
        assert TOKEN not in await _refusal(api.settings())
    assert len(api.requests) == 1


async def test_the_reason_of_a_refusal_is_kept(tmp_path: Path) -> None:
    """What the API says against it, a right or a policy, is in the sentence and bounded."""
    async with _serving(tmp_path) as api:
        for message in ("policy 'own-node-only' denied request", "x" * 3000):
            api.answer = (422, json.dumps({"kind": "Status", "message": message}))
            sentence = await _refusal(api.settings())
            assert message[:200] in sentence
            assert len(sentence) < 400


async def test_an_authority_without_ids_of_keys_is_trusted(tmp_path: Path) -> None:
    """Clusters of EKS have such a one, which Python 3.13 refuses by default."""
    async with _serving(tmp_path, has_ids=False) as api:
        await NodeApi(api.settings(), "n1", DaemonThreads()).patch({"status": {}})
    assert len(api.requests) == 1


async def test_a_stranger_is_not_told_the_token(tmp_path: Path) -> None:
    """A server with a certificate of another authority gets no request."""
    (tmp_path / "other").mkdir()
    async with _serving(tmp_path) as api:
        stranger = Authority(tmp_path / "other", "stranger")
        assert await _refusal(replace(api.settings(), ca_file=str(stranger.file)))
    assert api.requests == []


class _NoThreads(ThreadPoolExecutor):
    """What resolves names where the limit of processes is reached."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        raise RuntimeError("can't start new thread")


async def test_a_limit_of_processes_is_a_refusal(tmp_path: Path) -> None:
    """Names are resolved in threads; what cannot be asked now is asked again later."""
    asyncio.get_running_loop().set_default_executor(_NoThreads())
    async with _serving(tmp_path) as api:
        settings = replace(api.settings(), api_server=f"https://localhost:{api.port}")
        assert "no thread can be started" in await _refusal(settings)


async def test_missing_files_and_servers_are_refusals(tmp_path: Path) -> None:
    """No token, no authorities or nobody listening: one sentence, later another try."""
    token = tmp_path / "token"
    token.write_text(TOKEN)
    for settings in (
        NodeConditions(token_file="/nowhere", ca_file=""),
        NodeConditions(token_file=str(token), ca_file="/nowhere"),
        NodeConditions(api_server="https://127.0.0.1:1", token_file=str(token), ca_file=""),
    ):
        assert await _refusal(settings)


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"two words", b"a\r\nX-Evil: 1", b"x" * 2_000_000]
)
async def test_a_token_that_cannot_be_sent_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    """What is no token is not sent, and is not repeated in the sentence."""
    token = tmp_path / "token"
    token.write_bytes(content)
    settings = NodeConditions(token_file=str(token), ca_file="")
    sentence = await _refusal(settings)
    assert sentence.startswith("node_conditions.token_file: ")
    assert "Evil" not in sentence


@pytest.mark.parametrize("name", ["", "../pods/x", "a/b", "N1", "n1?x", "-a", "a" * 300])
def test_no_other_place_can_be_meant(name: str) -> None:
    """What is not a node's name is refused before any request."""
    with pytest.raises(ValueError, match="cannot be the name of a node"):
        NodeApi(NodeConditions(), name, DaemonThreads())
