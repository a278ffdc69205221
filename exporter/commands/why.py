"""`hw-exporter why`: the causes for a process, a component, a pod, or the whole node."""

import re
from http import HTTPStatus

from exporter.collectors.workloads.values import Workload
from exporter.commands.invocation import CommandError, Invocation
from exporter.commands.printing import Query, print_page
from exporter.commands.readings import Readings, connected, document_in
from exporter.exit_codes import EXIT_OK, EXIT_UNKNOWN
from exporter.reports.text.why import why_text

GPU_NUMBER = re.compile(r"gpu[ -]?(\d{1,3})", re.IGNORECASE)


def why(invocation: Invocation) -> int:
    """Print why a process or component is slow or broken; return the exit code."""
    options = invocation.options
    with connected(invocation) as readings:
        query = _query(readings, options.name)
        if options.ask or options.show_prompt:
            from exporter.commands.ask import ask_model  # noqa: PLC0415 - where it is asked for

            document = document_in(readings, "/why", readings.get("/why", query))
            return ask_model(invocation, document)
        everything = {"all": "1"} if options.all else {}
        print_page(
            readings,
            invocation,
            "/why",
            lambda document, screen: screen.fit(why_text(document, everything=options.all)),
            {**query, **everything},
        )
    return EXIT_OK


def _query(readings: Readings, name: str | None) -> Query:
    """Return the query of /why for a pid, the name or id of a component, or a pod."""
    if name is None:
        return {}
    if name.isascii() and name.isdigit():
        return {"pid": name}
    gpu = GPU_NUMBER.fullmatch(name)
    query = {"hw_id": f"GPU {gpu[1]}" if gpu else name}
    if readings.get("/why", query).status != HTTPStatus.NOT_FOUND:
        return query
    workloads = _workloads(readings, name)
    if not workloads:
        raise CommandError(f"no process, component or pod {name!r} is known here", EXIT_UNKNOWN)
    if len(workloads) > 1:
        raise CommandError(f"{name} is one of: {', '.join(sorted(workloads))}", EXIT_UNKNOWN)
    return {"hw_id": workloads.pop()}


def _workloads(readings: Readings, name: str) -> set[str]:
    """Return the ids of the workloads whose pod, or namespace and pod, has this name."""
    response = readings.get("/processes")
    if response.status != HTTPStatus.OK:
        return set()
    return {
        Workload(row["namespace"], row["pod"], row["container"]).name
        for row in document_in(readings, "/processes", response)["processes"]
        if name in (row["pod"], f"{row['namespace']}/{row['pod']}", row["container"])
    }
