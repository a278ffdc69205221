"""Replaces configured names by hashes."""

import hmac
import secrets
from collections.abc import Sequence

from exporter.collectors.workloads.values import GpuClient, Workload
from exporter.record import replace

SHOWN_DIGITS = 10
SALT_BYTES = 16


class Redaction:
    """`words` are what is hidden: process, namespace, pod, container.

    The hashes are salted, so that nobody finds a name by hashing all that are likely. Without a
    salt of the operator's they differ with each start and on each node.
    """

    def __init__(self, words: Sequence[str] = (), salt: str = "") -> None:
        self._words = frozenset(words)
        self._salt = salt.encode() or secrets.token_bytes(SALT_BYTES)

    def hides(self, word: str) -> bool:
        """Tell whether names of this kind are hidden."""
        return word in self._words

    def workload(self, workload: Workload) -> Workload:
        """Hide the names of a workload; what was empty stays empty."""
        return Workload(
            self._shown("namespace", workload.namespace),
            self._shown("pod", workload.pod),
            self._shown("container", workload.container),
        )

    def process(self, name: str) -> str:
        """Hide the name of a process."""
        return self._shown("process", name)

    def client(self, client: GpuClient) -> GpuClient:
        """Hide the names of a process."""
        if not self._words:
            return client
        name, workload = client.name, client.workload
        return replace(
            client,
            name=None if name is None else self.process(name),
            workload=None if workload is None else self.workload(workload),
        )

    def _shown(self, word: str, text: str) -> str:
        if word not in self._words or not text:
            return text
        digest = hmac.digest(self._salt, f"{word}/{text}".encode(), "sha256")
        return digest.hex()[:SHOWN_DIGITS]
