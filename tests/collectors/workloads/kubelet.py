"""A kubelet's pod-resources socket that says what a test wants, right or wrong."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from exporter.collectors.workloads.kubelet_grpc import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_HEAD_BYTES,
    HEADERS,
    PING,
    PREFACE,
    SETTINGS,
    frame,
)

Streams = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
STATUS_200 = b"\x88"  # the static table of HPACK
FRAMES_OF_A_CALL = 4
CLOSING_SECS = 0.02


class Kubelet:
    """Listens for as long as the block lasts; the socket's file goes with it."""

    def __init__(self, path: Path, behave: Streams) -> None:
        self.calls = 0
        self._path = path
        self._behave = behave
        self._writers: list[asyncio.StreamWriter] = []
        self._answers: list[asyncio.Future[None]] = []

    async def __aenter__(self) -> "Kubelet":  # noqa: PYI034 - Self is not in typing of Python 3.10
        self._server = await asyncio.start_unix_server(self._serve, str(self._path))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._path.unlink(missing_ok=True)
        await asyncio.sleep(CLOSING_SECS)  # a server that is closed leaves what has just come open
        self._server.close()
        for answer in self._answers:
            answer.cancel()
        for writer in self._writers:
            writer.transport.abort()
        closing = (writer.wait_closed() for writer in self._writers)
        ended = await asyncio.gather(*self._answers, *closing, return_exceptions=True)
        assert not [each for each in ended if isinstance(each, AssertionError)]

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a client; called before any task, so that no connection is left open."""
        self.calls += 1
        self._writers.append(writer)
        self._answers.append(asyncio.ensure_future(self._behave(reader, writer)))


async def hear(reader: asyncio.StreamReader) -> list[tuple[int, bytes]]:
    """The preface and the frames of one call: kind and payload."""
    assert await reader.readexactly(len(PREFACE)) == PREFACE
    found = []
    for _ in range(FRAMES_OF_A_CALL):
        head = await reader.readexactly(FRAME_HEAD_BYTES)
        found.append((head[3], await reader.readexactly(int.from_bytes(head[:3], "big"))))
    return found


def speak(message: bytes, *, piece_bytes: int = 1000) -> Streams:
    """Answers a call as a gRPC server does, in frames of so many bytes."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await hear(reader)
        writer.write(frame(SETTINGS, 0, 0, b"") + frame(SETTINGS, ACK, 0, b""))
        writer.write(frame(PING, 0, 0, b"12345678"))
        writer.write(frame(HEADERS, END_HEADERS, 1, STATUS_200))
        body = b"\x00" + len(message).to_bytes(4, "big") + message
        for at in range(0, len(body), piece_bytes):
            writer.write(frame(DATA, 0, 1, body[at : at + piece_bytes]))
        writer.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, STATUS_200))

    return behave


async def say_nothing(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Takes the call and never answers."""
    await hear(reader)


def say(data: bytes) -> Streams:
    """Says these bytes whatever is asked, and closes."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await hear(reader)
        writer.write(data)
        writer.close()

    return behave


def field_of(number: int, content: bytes) -> bytes:
    """A length-delimited field of a protobuf message."""
    size = len(content)
    head = bytes([number << 3 | 2])
    while size > 127:
        head += bytes([size & 127 | 128])
        size >>= 7
    return head + bytes([size]) + content


def list_response(*rows: tuple[str, str, str, str, Iterable[str]]) -> bytes:
    """The message of rows (namespace, pod, container, resource, device ids)."""
    message = b""
    for namespace, pod, container, resource, ids in rows:
        devices = field_of(1, resource.encode())
        devices += b"".join(field_of(2, device.encode()) for device in ids)
        devices += field_of(3, b"\x08\x01")  # the topology, which we do not read
        given = field_of(1, container.encode()) + field_of(2, devices) + b"\x18\x07"
        whole = field_of(1, pod.encode()) + field_of(2, namespace.encode()) + field_of(3, given)
        message += field_of(1, whole)
    return message


def claim_response(
    namespace: str, pod: str, container: str, *devices: tuple[str, str, str]
) -> bytes:
    """The message of one container with a DRA claim of devices (driver, device, CDI name)."""
    given = b""
    for driver, device, cdi in devices:
        part = field_of(1, field_of(1, cdi.encode()))
        if driver:  # kubelets before 1.31 say the CDI name only
            part += field_of(2, driver.encode()) + field_of(3, b"node-a")
            part += field_of(4, device.encode())
        given += field_of(4, part)
    claim = field_of(2, b"train-0-gpus") + field_of(3, namespace.encode()) + given
    held = field_of(1, container.encode()) + field_of(5, claim)
    return field_of(
        1, field_of(1, pod.encode()) + field_of(2, namespace.encode()) + field_of(3, held)
    )


def in_turn(*behaviours: Streams) -> Streams:
    """Takes each call as the next of these does."""
    waiting = iter(behaviours)

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await next(waiting)(reader, writer)

    return behave


def allocatable_response(*rows: tuple[str, Iterable[str]]) -> bytes:
    """The message of rows (resource, device ids)."""
    message = b""
    for resource, ids in rows:
        devices = field_of(1, resource.encode())
        devices += b"".join(field_of(2, device.encode()) for device in ids)
        message += field_of(1, devices + field_of(3, b"\x08\x01"))
    return message


@contextmanager
def serving(socket: Path, answer: bytes) -> Iterator[None]:
    """A kubelet beside a real program: it answers each call with this message."""
    started = threading.Event()
    way_out: list[Callable[[], object]] = []

    async def serve() -> None:
        done, loop = asyncio.Event(), asyncio.get_running_loop()
        way_out.append(lambda: loop.call_soon_threadsafe(done.set))
        socket.parent.mkdir(parents=True, exist_ok=True)
        async with Kubelet(socket, speak(answer)):
            started.set()
            await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert started.wait(10)
        yield
    finally:
        way_out[0]()
        thread.join(10)
