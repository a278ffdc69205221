"""Hides names that are nobody's business behind hashes that still tell them apart."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from exporter.model.workload import GpuClient, Workload

SHOWN_DIGITS = 10


class Redaction:
    """`words` are what is hidden: process, namespace, pod, container."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self._words = frozenset(words)

    def workload(self, workload: Workload) -> Workload:
        """The same workload, as it may be shown; what was empty stays empty."""
        return Workload(
            self._shown("namespace", workload.namespace),
            self._shown("pod", workload.pod),
            self._shown("container", workload.container),
        )

    def client(self, client: GpuClient) -> GpuClient:
        """The same process, as it may be shown."""
        if not self._words:
            return client
        name, workload = client.name, client.workload
        return replace(
            client,
            name=None if name is None else self._shown("process", name),
            workload=None if workload is None else self.workload(workload),
        )

    def _shown(self, word: str, text: str) -> str:
        if word not in self._words or not text:
            return text
        return hashlib.sha256(f"{word}/{text}".encode()).hexdigest()[:SHOWN_DIGITS]
