"""A real kube-apiserver with its etcd on loopback, where both programs are installed."""

import json
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.fakes.manifests import Manifest
from tests.fakes.prometheus import free_port, running, why_not
from tests.program import wait_for

ADMIN = "the-token-of-the-administrator"
ISSUER = "https://kubernetes.default.svc"
PLACES = {
    "ClusterRole": "apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "ValidatingAdmissionPolicy": (
        "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    ),
    "ValidatingAdmissionPolicyBinding": (
        "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    ),
    "Namespace": "api/v1/namespaces",
    "ServiceAccount": "api/v1/namespaces/{}/serviceaccounts",
    "Pod": "api/v1/namespaces/{}/pods",
    "Node": "api/v1/nodes",
}


def missing() -> str | None:
    """Say which of the programs is not installed; None when all are."""
    return why_not("etcd", "kube-apiserver", "openssl")


class KubeApiServer:
    """Answers requests with a token; `ca` is the file with its certificate.

    `may_write` says whether our roles are bound to our account.
    """

    def __init__(self, port: int, folder: Path) -> None:
        self.may_write = True
        self.url = f"https://127.0.0.1:{port}"
        self.ca = folder / "certs/apiserver.crt"

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str = ADMIN, kind: str = "json"
    ) -> tuple[int, Any]:
        """Return the status and the document of the answer."""
        context = ssl.create_default_context(cafile=str(self.ca))
        headers = {"Authorization": f"Bearer {token}", "Content-Type": f"application/{kind}"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - loopback
            f"{self.url}/{path}", data, headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=30, context=context) as answer:  # noqa: S310 - loopback
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def apply(self, manifest: Manifest) -> None:
        """Create the object; its kind must be in PLACES."""
        namespace = manifest["metadata"].get("namespace", "default")
        status, said = self.ask("POST", PLACES[manifest["kind"]].format(namespace), manifest)
        assert status in {201, 409}, said

    def pod_token(self, node: str) -> str:
        """Return the token of a pod of our account that runs on this node."""
        self.apply({"kind": "Node", "apiVersion": "v1", "metadata": {"name": node}})
        container = {"name": "hw-exporter", "image": "hw-exporter"}
        spec = {"nodeName": node, "serviceAccountName": "hw-exporter", "containers": [container]}
        meta = {"name": f"on-{node}", "namespace": "hw-exporter"}
        self.apply({"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec})
        bound = {"kind": "Pod", "apiVersion": "v1", "name": meta["name"]}
        status, said = self.ask(
            "POST",
            "api/v1/namespaces/hw-exporter/serviceaccounts/hw-exporter/token",
            {"spec": {"audiences": [ISSUER], "boundObjectRef": bound}},
        )
        assert status == 201, said
        token: str = said["status"]["token"]
        return token


@contextmanager
def kube_apiserver(folder: Path) -> Iterator[KubeApiServer]:
    """An empty cluster without controllers, while the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    etcd_port, peer_port, port = free_port(), free_port(), free_port()
    key = folder / "account.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text(f"{ADMIN},admin,admin,system:masters\n")
    etcd = f"http://127.0.0.1:{etcd_port}"
    peer = f"http://127.0.0.1:{peer_port}"
    commands = {
        "etcd": [
            *("etcd", f"--data-dir={folder}/etcd", f"--listen-client-urls={etcd}"),
            *(f"--advertise-client-urls={etcd}", f"--listen-peer-urls={peer}"),
            *(f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}"),
        ],
        "kube-apiserver": [
            *("kube-apiserver", f"--etcd-servers={etcd}", f"--secure-port={port}"),
            *("--bind-address=127.0.0.1", f"--cert-dir={folder}/certs"),
            *(f"--token-auth-file={folder}/tokens.csv", "--authorization-mode=Node,RBAC"),
            *("--service-cluster-ip-range=10.0.0.0/24", f"--service-account-issuer={ISSUER}"),
            *(f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}"),
        ],
    }
    with ExitStack() as stack:
        for name, command in commands.items():
            stack.enter_context(running(command, folder / f"{name}.log"))
        api = KubeApiServer(port, folder)

        def is_ready() -> bool:
            try:
                return api.ask("GET", "api/v1/namespaces/default")[0] == 200
            except OSError:
                return False

        wait_for(is_ready, "kube-apiserver to be ready")
        yield api


def objects_of(manifests: list[Manifest]) -> list[Manifest]:
    """Return those that an API server without custom resources and controllers needs of us."""
    return [it for it in manifests if it["kind"] in PLACES]
