"""A receiver of OTLP over HTTP; what arrives is read with the protocol's published messages."""

import gzip
import http.server
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text

from tests.fakes.certificates import KeyPair
from tests.serving import serving

Sample = tuple[str, tuple[tuple[str, str], ...]]
"""A name, and labels in the order of their names."""


@dataclass(slots=True)
class Receiver:
    """What it got, and how it answers the next requests."""

    url: str
    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    waits_secs: float = 0.0
    paths: list[str] = field(default_factory=list)
    heads: list[dict[str, str]] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)

    def samples(self) -> dict[Sample, float]:
        """The values of the last request, as a page of Prometheus would show them."""
        return samples_of(self.requests[-1])

    def metrics(self) -> dict[str, Any]:
        """The metrics of the last request by name."""
        return {metric.name: metric for metric in _metrics(self.requests[-1])}


def samples_of_page(page: str) -> dict[Sample, float]:
    """The values of a page of Prometheus."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parse_text(page)
        for sample in family.samples
    }


def samples_of(request: Any) -> dict[Sample, float]:
    """The values of an ExportMetricsServiceRequest, as a page of Prometheus would show them."""
    found: dict[Sample, float] = {}
    for metric in _metrics(request):
        for point in getattr(metric, metric.WhichOneof("data")).data_points:
            labels = {it.key: it.value.string_value for it in point.attributes}
            for name, more, value in _values(metric, point):
                found[name, tuple(sorted((labels | more).items()))] = value
    return found


def _metrics(request: Any) -> Iterator[Any]:
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            yield from scope.metrics


def _values(metric: Any, point: Any) -> Iterator[tuple[str, dict[str, str], float]]:
    """The series of a data point; those of a histogram count what is below them too."""
    if metric.WhichOneof("data") != "histogram":
        yield metric.name, {}, point.as_double
        return
    count = 0
    for bound, more in zip([*point.explicit_bounds, "+Inf"], point.bucket_counts, strict=True):
        count += more
        yield f"{metric.name}_bucket", {"le": str(bound)}, count
    yield f"{metric.name}_sum", {}, point.sum
    yield f"{metric.name}_count", {}, point.count


@contextmanager
def receiving(pair: KeyPair | None = None) -> Iterator[Receiver]:
    """A receiver on a port of its own; with a certificate it speaks only TLS."""
    found = Receiver("")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            found.paths.append(self.path)
            found.heads.append({name.lower(): value for name, value in self.headers.items()})
            found.requests.append(Parse(body, ExportMetricsServiceRequest()))
            time.sleep(found.waits_secs)
            self.send_response(found.status)
            self.send_header("Content-Length", str(len(found.body)))
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(found.body)
            except OSError:
                return  # the pusher has given up

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if pair is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.cert, pair.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if pair is None else "https"
    found.url = f"{scheme}://127.0.0.1:{server.server_port}/v1/metrics"
    with serving(server):
        yield found
