"""The page at `/`: what there is to read here."""

from functools import lru_cache
from html import escape

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

LINKS = (
    ("/metrics", "metrics for Prometheus"),
    ("/node", "inventory of this node as JSON"),
    ("/processes", "processes on GPUs, and whom they belong to, as JSON"),
    ("/faults", "what is broken, since when, and what it follows from"),
    ("/why", "why this node, a process (?pid=) or a component (?hw_id=) is slow or broken"),
    ("/health", "liveness"),
    ("/ready", "readiness, with reasons"),
    ("/metrics/json", "a few figures as a flat JSON object"),
)

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>hw-exporter</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto;
  padding: 0 1rem; }}
dt {{ font-family: ui-monospace, monospace; margin-top: .6rem; }}
dd {{ margin: 0; opacity: .75; }}
</style>
</head>
<body>
<h1>hw-exporter {version}</h1>
<p>What this node's hardware is, how it is doing, what is broken, and why.</p>
<dl>
{links}
</dl>
</body>
</html>
"""


@lru_cache(maxsize=1)
def landing_page(version: str) -> tuple[bytes, str]:
    """The page as UTF-8, and its Content-Security-Policy."""
    links = "\n".join(
        f'<dt><a href="{path}">{path}</a></dt><dd>{escape(text)}</dd>' for path, text in LINKS
    )
    return _PAGE.format(version=escape(version), links=links).encode(), POLICY
