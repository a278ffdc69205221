#!/usr/bin/env python3
"""A probe: prints which nodes of the IMEX domain are ready, as nvidia-imex-ctl reports them.

The first argument is the path of nvidia-imex-ctl. It reads `/etc/nvidia-imex/config.cfg` and asks
the IMEX service of each node in `/etc/nvidia-imex/nodes_config.cfg`; for this
`IMEX_CMD_ENABLED=1` and `IMEX_CMD_PORT` must be set on all of them:
https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/cmdservice.html
"""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

PROGRAM = "/usr/bin/nvidia-imex-ctl"
TIMEOUT_SECS = 8
MAX_NODES = 256
DOMAIN_UP = {"UP": 1, "DEGRADED": 0, "DOWN": 0}

Metric = tuple[str, str, float, dict[str, str]]
"""Name, help, value, and labels."""


def ask(program: str) -> dict[str, Any]:
    """Return the state of the domain; raise OSError, TimeoutExpired or ValueError."""
    run = subprocess.run(  # noqa: S603 - a fixed argument vector, no shell
        [program, "-N", "-j"], capture_output=True, timeout=TIMEOUT_SECS, check=False
    )
    if run.returncode:
        raise ValueError(f"exit code {run.returncode}: {run.stderr.decode('utf-8', 'replace')}")
    found = json.loads(run.stdout)
    if not isinstance(found, dict) or not isinstance(found.get("nodes"), dict):
        raise ValueError("it prints no nodes")  # noqa: TRY004 - as of any other text
    return found


def is_own(host: str) -> bool:
    """Tell whether the address is one of this node."""
    try:
        family = socket.AF_INET6 if ip_address(host).version == 6 else socket.AF_INET  # noqa: PLR2004
        with socket.socket(family, socket.SOCK_DGRAM) as taken:
            taken.bind((host, 0))
    except (OSError, ValueError):
        return False
    return True


def metrics(domain: dict[str, Any]) -> Iterator[Metric]:
    """Yield what is known of the domain and of each node; nothing for what is not said."""
    nodes = [it for it in domain["nodes"].values() if isinstance(it, dict)]
    states = {it["host"]: it["status"] for it in nodes if "host" in it and "status" in it}
    up = DOMAIN_UP.get(str(domain.get("status")))
    if up is not None:
        yield "hw_imex_domain_up", "Whether all of the IMEX domain is up.", up, {}
    ready = sum(state == "READY" for state in states.values())
    yield "hw_imex_domain_nodes", "Nodes in the IMEX domain.", len(states), {}
    yield "hw_imex_domain_nodes_ready", "Nodes whose IMEX service is ready.", ready, {}
    for host, state in list(states.items())[:MAX_NODES]:
        about = {"host": str(host)}
        yield (
            "hw_imex_node_ready",
            "Whether IMEX on the host is ready.",
            int(state == "READY"),
            about,
        )
    # A node that is not ready knows of no connection: what is printed of it was not asked.
    own = next(
        (it for it in nodes if states.get(it.get("host")) == "READY" and is_own(it["host"])), {}
    )
    for peer in list((own.get("connections") or {}).values())[:MAX_NODES]:
        is_connected = int(peer["status"] == "CONNECTED")
        about = {"host": str(peer["host"])}
        yield (
            "hw_imex_node_connected",
            "Whether this node is connected to the host.",
            is_connected,
            about,
        )


def main() -> int:
    """Print one line for each metric; return 1 and say why when the domain cannot be read."""
    program = sys.argv[1] if len(sys.argv) > 1 else PROGRAM
    try:
        lines = [
            json.dumps(
                {"metric": name, "type": "gauge", "help": text, "labels": labels, "value": value}
            )
            for name, text, value, labels in metrics(ask(program))
        ]
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"{program}: {str(error).strip()}\n")
        return 1
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
