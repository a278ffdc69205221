"""Links in alerts and dashboards: to runbooks, and to the evidence of a fault."""

import os
from dataclasses import dataclass

NODE, HW_ID, INSTANCE = ("{{ $labels.%s }}" % name for name in ("node", "hw_id", "instance"))  # noqa: UP031 - braces


def in_command(label: str) -> str:
    """Return the place of a label in a command: what a shell obeys becomes a question mark.

    Users choose names of mounts and interfaces. Grafana reads a dollar sign as a variable of its
    own, so characters cannot be escaped by what was found.
    """
    return f"{{{{ reReplaceAll `[^\\w@%+=:,./# -]` `?` $labels.{label} }}}}"


OWN = os.environ.get("RUNBOOKS", "").rstrip("/")
"""Custom runbooks: the base URL in `make docs RUNBOOKS=`, for all links."""

DOCS = "https://github.com/hw-exporter/hw-exporter/blob/main/docs/runbooks"
SERVICE = "http://hw-exporter.hw-exporter.svc:8080"


@dataclass(frozen=True, slots=True)
class Place:
    """How to reach an exporter: its `address`, and the command that shows the `evidence`.

    With `is_one_node` the address is that of the exporter the alert is about: it does not answer
    while that exporter is down.
    """

    address: str
    evidence: str
    is_one_node: bool

    def runbooks_of(self, instance: str) -> str:
        """Return the base URL of all runbooks on the exporter with this address."""
        return OWN or f"{self.address.replace(INSTANCE, instance)}/runbooks"

    def runbook(self, name: str, *, is_exporter_up: bool = True) -> str:
        """Return the link to the runbook of a rule or alert."""
        if OWN:
            return f"{OWN}/{name}"
        if self.is_one_node and not is_exporter_up:
            return f"{DOCS}/alerts.md#{name.lower()}"
        return f"{self.address}/runbooks/{name}"


HOSTS = Place(
    f"http://{INSTANCE}",
    f"hw-exporter why {in_command('hw_id')} on the node, or http://{INSTANCE}/why?hw_id={HW_ID}",
    is_one_node=True,
)
"""The label `instance` is the exporter's address, as Prometheus sets it."""

PODS = Place(
    SERVICE,
    "kubectl -n hw-exporter exec $(kubectl -n hw-exporter get pod -o name"
    " -l app.kubernetes.io/name=hw-exporter"  # the chart may share a namespace with others
    f" --field-selector spec.nodeName={NODE}) -- hw-exporter why {in_command('hw_id')}",
    is_one_node=False,
)
"""In Kubernetes the label `instance` is the node's name; every pod has the same runbooks."""
