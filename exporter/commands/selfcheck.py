"""`hw-exporter selfcheck URL`: checks a running exporter and prints one line per check."""

import time
from collections.abc import Callable, Iterator
from http import HTTPStatus

from exporter.commands.http_client import Address, Response, Unreachable, get, parse_address
from exporter.commands.invocation import Invocation
from exporter.commands.readings import local_address
from exporter.exit_codes import EXIT_FAILED, EXIT_OK
from exporter.reports.units import one_line

TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
NO_SUCH_PAGE = "/no-such-page"
DEADLINE_SECS = 30.0
"""The time after which no further check begins."""

Check = tuple[str, Callable[[Address], None]]


class Broken(Exception):
    """A failed check; the message says what was found."""

    def __init__(self, found: str) -> None:
        super().__init__(one_line(found))


def expect(is_so: bool, found: str) -> None:  # noqa: FBT001 - reads as an assertion
    """Raise Broken with `found` unless `is_so`."""
    if not is_so:
        raise Broken(found)


def selfcheck(invocation: Invocation) -> int:
    """Print one line for each check; return the exit code."""
    options = invocation.options
    named = options.address or options.url
    try:
        base = parse_address(named) if named else local_address(invocation.settings().config)
        get(base, "/health")
    except Unreachable as unreachable:  # every check would say the same
        print(f"FAIL {unreachable}")
        return EXIT_FAILED
    failures = 0
    deadline = time.monotonic() + DEADLINE_SECS
    for name, check in (*HTTP_CHECKS, *_page_checks()):
        try:
            expect(time.monotonic() < deadline, f"not checked within {DEADLINE_SECS:g} s")
            check(base)
        except (Broken, Unreachable) as problem:
            failures += 1
            print(f"FAIL {name}: {problem}")
        else:
            print(f"PASS {name}")
    return EXIT_FAILED if failures else EXIT_OK


def _page_checks() -> Iterator[Check]:
    # Here, because the parsers cost memory that only this command needs.
    from exporter.commands.page_checks import PAGE_CHECKS, Page  # noqa: PLC0415

    pages: list[Page] = []
    for name, check in PAGE_CHECKS:

        def run(base: Address, check: Callable[[Page], None] = check) -> None:
            if not pages:
                texts = (_page(base, kind).text for kind in (TEXT_TYPE, OPENMETRICS_TYPE))
                pages.append(Page(*texts))
            check(pages[0])

        yield name, run


def _page(base: Address, content_type: str) -> Response:
    answer = get(base, "/metrics", {"Accept": content_type.partition(";")[0]})
    expect(answer.status == HTTPStatus.OK, f"/metrics answers {answer.status}")
    expect(answer.content_type == content_type, f"the type is {answer.content_type!r}")
    return answer


def _health(base: Address) -> None:
    for path in ("/health", "/healthz"):
        answer = get(base, path)
        expect(answer.status == HTTPStatus.OK, f"{path} answers {answer.status}")
        document = answer.document()
        expect(document.get("status") == "healthy", f"{path} says {document.get('status')!r}")
        expect(bool(document.get("version")), f"{path} names no version")


def _ready(base: Address) -> None:
    answer = get(base, "/ready")
    reasons = answer.document().get("reasons")
    expect(answer.status == HTTPStatus.OK, f"not ready: {reasons}")


def _inventory(base: Address) -> None:
    document = get(base, "/node").document()
    for field in ("hostname", "node", "uptime_secs", "cpu_threads", "memory_total_bytes"):
        expect(document.get(field) not in (None, ""), f"/node lacks {field}")
    devices = document.get("gpu_devices")
    counted = document.get("gpu_count")
    expect(
        isinstance(devices, list) and len(devices) == counted,
        f"gpu_count is {counted}, and gpu_devices has another length",
    )


def _types(base: Address) -> None:
    for content_type in (TEXT_TYPE, OPENMETRICS_TYPE):
        _page(base, content_type)


def _gzip(base: Address) -> None:
    answer = get(base, "/metrics", {"Accept-Encoding": "gzip"})
    expect(answer.was_gzipped, "the answer is not packed")
    expect(answer.text.startswith("# HELP hw_"), "the unpacked page does not begin as one")


def _head(base: Address) -> None:
    for path in ("/metrics", "/health", "/node"):
        answer = get(base, path, method="HEAD")
        expect(answer.status == HTTPStatus.OK, f"HEAD {path} answers {answer.status}")
        expect(not answer.body, f"HEAD {path} has a body")
        expect(answer.content_length > 0, f"HEAD {path} does not tell the length")


def _errors(base: Address) -> None:
    missing = get(base, NO_SUCH_PAGE)
    expect(missing.status == HTTPStatus.NOT_FOUND, f"an unknown page answers {missing.status}")
    expect("error" in missing.document(), "404 carries no error sentence")
    written = get(base, "/metrics", method="POST")
    is_refused = written.status == HTTPStatus.METHOD_NOT_ALLOWED
    expect(is_refused, f"POST /metrics answers {written.status}")


HTTP_CHECKS: tuple[Check, ...] = (
    ("health", _health),
    ("ready", _ready),
    ("content types", _types),
    ("gzip", _gzip),
    ("HEAD", _head),
    ("404 and 405", _errors),
    ("inventory", _inventory),
)
