"""Names of pods and containers from the names of files."""

import os
from pathlib import Path

import pytest

from exporter.collectors.workloads.pod_logs import (
    PodNameReader,
    PodNames,
    parse_container_log,
    parse_pod_folder,
)
from exporter.collectors.workloads.values import PodUid, Workload

CID = "4f" * 32
UID = "3b1f0f6e-58c1-4b0e-9c0a-1f6f0d3c2b1a"


@pytest.mark.parametrize(
    ("folder", "names"),
    [
        (f"ml_train-0_{UID}", ("ml", "train-0")),
        (f"kube-system_etcd-node.example_{'ab' * 16}", ("kube-system", "etcd-node.example")),
        (f"ml_train_{UID}_x", None),
        (f"ml_train-0_{UID[:-1]}g", None),
        (f"ml__{UID}", None),
        ('ml_a"b_' + UID, None),
        ("lost+found", None),
    ],
)
def test_a_pod_folder_says_namespace_and_name(folder: str, names: tuple[str, str] | None) -> None:
    """Names of Kubernetes hold no underscore; what is not of that form is not a pod."""
    pod = parse_pod_folder(folder)
    assert (None if pod is None else (pod.namespace, pod.pod)) == names


@pytest.mark.parametrize(
    ("file", "found"),
    [
        (f"train-0_ml_trainer-{CID}.log", (CID, Workload("ml", "train-0", "trainer"))),
        (f"a.b-c_ns_side-car-2-{CID}.log", (CID, Workload("ns", "a.b-c", "side-car-2"))),
        (f"train-0_ml_trainer-{CID[:-1]}.log", None),
        (f"train-0_trainer-{CID}.log", None),
        ("", None),
    ],
)
def test_a_container_log_says_all_names(file: str, found: tuple[str, Workload] | None) -> None:
    """The name of the link is enough: it is never followed."""
    assert parse_container_log(file) == found


def test_nothing_in_the_folders_is_opened_or_followed(tmp_path: Path) -> None:
    """Links to secrets, pipes and huge files in these places are names and nothing more."""
    pods = tmp_path / "var/log/pods"
    pods.mkdir(parents=True)
    os.mkfifo(pods / f"ml_pipe_{UID}")
    (pods / f"ml_link_{UID[:-1]}b").symlink_to("/etc")
    (pods / f"ml_huge_{UID[:-1]}c").mkdir()
    (pods / f"ml_huge_{UID[:-1]}c" / "shadow").symlink_to("/etc/shadow")
    reader = PodNameReader(tmp_path)
    names = reader.read()
    assert len(names.pods) == 3
    for uid, containers in ((UID, ()), (UID[:-1] + "b", ()), (UID[:-1] + "c", ("shadow",))):
        assert reader.containers_of(names.pods[uid]) == containers


def test_a_node_without_a_kubelet_has_no_names(tmp_path: Path) -> None:
    """Folders that are not there, or not folders, are no error."""
    assert PodNameReader(tmp_path).read() == PodNames()
    (tmp_path / "var").write_text("")
    reader = PodNameReader(tmp_path)
    assert reader.read() == PodNames()
    assert reader.containers_of(PodUid("a", "b", UID)) == ()
