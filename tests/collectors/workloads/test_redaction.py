"""Names behind hashes: told apart, and not to be guessed without the salt."""

import hashlib

from exporter.collectors.workloads.redaction import Redaction
from exporter.collectors.workloads.values import Workload

POD = Workload("ml", "train", "trainer")


def shown(salt: str) -> str:
    """The pod's name as it is shown with this salt."""
    return Redaction(("pod",), salt).workload(POD).pod


def test_the_salt_of_the_operator_makes_hashes_the_same_everywhere() -> None:
    """Two nodes with one secret join; with another secret nothing is recognised."""
    assert shown("secret") == shown("secret")
    assert shown("secret") != shown("other")


def test_without_a_salt_no_start_has_the_hashes_of_another() -> None:
    """Hashing likely names, or the names of another node, finds none."""
    assert len({shown("") for _ in range(5)}) == 5
    assert shown("") != hashlib.sha256(b"pod/train").hexdigest()[:10]


def test_only_what_is_named_is_hidden() -> None:
    """The same name as pod and as namespace has two hashes; what is empty stays empty."""
    redaction = Redaction(("pod", "namespace"), "secret")
    found = redaction.workload(Workload("same", "same", "trainer"))
    assert found.container == "trainer"
    assert len({found.namespace, found.pod, "same"}) == 3
    assert redaction.workload(Workload("", "", "x")) == Workload("", "", "x")
