"""Pushes to a receiver: what arrives, and what a receiver that refuses, hangs or is gone costs."""

import logging
import math
from collections import Counter
from pathlib import Path

import pytest

from exporter.blocking import DaemonThreads
from exporter.collectors.everything import EVERYTHING
from exporter.collectors.memory.values import Memory
from exporter.config.file import ConfigError, Layer, load
from exporter.config.otlp import Otlp
from exporter.exposition.family import Family, Histogram, MetricType
from exporter.exposition.page import Moment, Pages
from exporter.exposition.render import Format, render
from exporter.model.snapshot import Snapshot
from exporter.otlp.push import Pusher, Shown
from tests.fakes.otlp_receiver import Receiver, receiving, samples_of_page

SNAPSHOT = Snapshot(
    node='node-"1"',
    sequence=1,
    taken_at=1.8e9,
    taken_boottime=1000.0,
    duration_secs=0.01,
    readings={Memory: Memory(total_bytes=100, available_bytes=60)},
)
NOW = 1.8e9 + 3.5
ODD = (
    Family("hw_odd_volts", "V", MetricType.GAUGE, ("a",), lambda _: [(("ü\ud800",), math.nan)]),
    Family("hw_far_seconds", "F", MetricType.GAUGE, (), lambda _: [((), math.inf)]),
    Family(
        "hw_wait_seconds",
        "W",
        MetricType.HISTOGRAM,
        ("q",),
        lambda _: [(("1",), Histogram(((0.1, 2), (0.5, 5), (math.inf, 7)), 3.5))],
    ),
)


def _pages() -> Pages:
    pages = Pages(EVERYTHING, lambda: 1000.0, Moment)
    pages.publish(SNAPSHOT)
    return pages


def _pusher(receiver: Receiver, shown: Shown | None = None, **settings: object) -> Pusher:
    config = load([Layer("test", {"otlp": {"endpoint": receiver.url, **settings}})]).otlp
    page = _pages()
    return Pusher(
        config,
        "1.2",
        lambda: shown or page.shown(),
        call=DaemonThreads(),
        wall=lambda: NOW,
        pushes=Counter(),
    )


async def test_what_arrives_is_the_page() -> None:
    """Names, labels and values are those of /metrics; the receiver reads every byte of it."""
    with receiving() as receiver:
        await _pusher(receiver).step()
        body = _pages().body(Format.TEXT, gzipped=False)
        assert body is not None
        assert receiver.samples() == samples_of_page(body.decode())
        metrics = receiver.metrics()
    counter = metrics["hw_exporter_collections_total"]
    assert counter.sum.is_monotonic
    assert counter.sum.aggregation_temporality == 2
    assert metrics["hw_memory_total_bytes"].unit == "By"
    (point,) = metrics["hw_memory_total_bytes"].gauge.data_points
    assert point.time_unix_nano == int(NOW * 1e9)
    assert receiver.paths == ["/v1/metrics"]
    assert receiver.heads[0]["content-type"] == "application/json"


async def test_odd_values_arrive() -> None:
    """Histograms, values that are not finite, and labels that are no UTF-8."""
    with receiving() as receiver:
        await _pusher(receiver, (SNAPSHOT, list(ODD))).step()
        got = receiver.samples()
    odd = ("hw_odd_volts", (("a", "ü?"), ("node", 'node-"1"')))
    assert math.isnan(got.pop(odd))
    text = render(ODD[1:], SNAPSHOT, Format.TEXT).body.decode()
    assert got == samples_of_page(text)


async def test_before_the_first_snapshot_nothing_is_pushed() -> None:
    """An empty request would say that everything has gone."""
    with receiving() as receiver:
        pages = Pages(EVERYTHING, lambda: 1000.0, Moment)
        settings = Otlp(endpoint=receiver.url)
        pusher = Pusher(
            settings, "1", pages.shown, call=DaemonThreads(), wall=lambda: NOW, pushes=Counter()
        )
        await pusher.step()
        assert receiver.requests == []
    assert dict(pusher.pushes) == {}


async def test_headers_are_read_at_each_push(tmp_path: Path) -> None:
    """A token is renewed in its file; what is no header is one sentence without the token."""
    file = tmp_path / "headers"
    file.write_text("Authorization: Bearer one\n\nX-Tenant: a b\n")
    with receiving() as receiver:
        pusher = _pusher(receiver, headers_file=str(file))
        await pusher.step()
        file.write_text("Authorization: Bearer two\n")
        await pusher.step()
    assert [head["authorization"] for head in receiver.heads] == ["Bearer one", "Bearer two"]
    assert receiver.heads[0]["x-tenant"] == "a b"


@pytest.mark.parametrize("line", ["secret", "A B: secret", "X:", "X: sec\x01ret", "X: s\x85ecret"])
async def test_what_is_no_header_is_one_sentence(
    line: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is sent, and nothing of the line is repeated."""
    (tmp_path / "headers").write_text(f"X-A: b\n{line}\n", "utf-8")
    with receiving() as receiver:
        await _pusher(receiver, headers_file=str(tmp_path / "headers")).step()
        assert receiver.requests == []
    (said,) = caplog.messages
    assert said.endswith('is not "Name: value"')
    assert "ecret" not in said


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (503, b"", "answered 503 Service Unavailable"),
        (400, b'{"code": 3, "message": "no tenant"}', "answered 400 Bad Request: no tenant"),
        (404, b"[" * 100_000, "answered 404 Not Found"),
        (302, b"", "answered 302 Found"),
        (200, b"x" * (9 * 1024 * 1024), "answered with too much"),
    ],
)
async def test_a_refusal_is_one_sentence(
    status: int, body: bytes, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged once, counted each time, and asked less often; then it is said to be well."""
    caplog.set_level(logging.INFO)
    with receiving() as receiver:
        pusher = _pusher(receiver)
        receiver.status, receiver.body = status, body
        receiver.headers = {"Location": receiver.url}
        for _ in range(3):
            await pusher.step()
        assert len(receiver.requests) == 3
        assert pusher.pause_secs() == 120
        (sentence,) = caplog.messages
        assert said in sentence
        receiver.status, receiver.body = 200, b""
        await pusher.step()
    assert caplog.messages[1:] == ["OTLP: the receiver accepts the metrics again"]
    assert dict(pusher.pushes) == {"failed": 3, "accepted": 1}
    assert pusher.pause_secs() == 15


@pytest.mark.parametrize(
    ("wish", "pause_secs"),
    [("600", 600), ("7", 30), ("999999", 3600), ("Fri, 31 Dec 2027 23:59:59 GMT", 30), ("²", 30)],
)
async def test_a_receiver_may_ask_for_a_pause(wish: str, pause_secs: float) -> None:
    """The longer one of its pause and ours is kept, for one push, and an hour at most."""
    with receiving() as receiver:
        pusher = _pusher(receiver)
        receiver.status, receiver.headers = 429, {"Retry-After": wish}
        await pusher.step()
        assert pusher.pause_secs() == pause_secs
        receiver.status, receiver.headers = 200, {}
        await pusher.step()
    assert pusher.pause_secs() == 15


async def test_what_is_rejected_in_part_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """The rest has arrived: the push counts as accepted."""
    with receiving() as receiver:
        answer = b'{"partialSuccess": {"rejectedDataPoints": "7", "errorMessage": "too old"}}'
        receiver.body = answer
        pusher = _pusher(receiver)
        await pusher.step()
        await pusher.step()
    assert caplog.messages == ["OTLP: the receiver rejected 7 data points: too old"]
    assert dict(pusher.pushes) == {"accepted": 2}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        *((202, b""), (204, b"")),
        (200, b'{"partialSuccess": {"rejectedDataPoints": "0", "errorMessage": ""}}'),
        (200, b'{"partialSuccess": {"rejectedDataPoints": 0}}'),
    ],
)
async def test_each_way_to_say_yes_is_an_accepted_push(
    status: int, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Any status from 200 to 299, and numbers of 64 bits as texts, as protobuf's JSON has them."""
    with receiving() as receiver:
        receiver.status, receiver.body = status, body
        pusher = _pusher(receiver)
        await pusher.step()
    assert dict(pusher.pushes) == {"accepted": 1}
    assert caplog.messages == []


async def test_a_receiver_that_hangs_or_is_gone_costs_one_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The push ends at its deadline, with nothing left for later."""
    with receiving() as receiver:
        receiver.waits_secs = 1.0
        pusher = _pusher(receiver, timeout_secs=0.2)
        await pusher.step()
    await pusher.step()
    assert [said.rpartition(": ")[2] for said in caplog.messages] == [
        "TimeoutError",
        "ClientConnectorError",
    ]
    assert dict(pusher.pushes) == {"failed": 2}


@pytest.mark.parametrize("wrong", ["localhost:4318", "ftp://a", "http://u:p@host/", "http://a b"])
def test_what_is_no_url_is_refused(wrong: str) -> None:
    """A login belongs into the file of headers."""
    with pytest.raises(ConfigError, match="must be a URL such as") as caught:
        load([Layer("test", {"otlp": {"endpoint": wrong}})])
    assert "u:p" not in str(caught.value)
