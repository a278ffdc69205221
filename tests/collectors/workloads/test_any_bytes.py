"""Any bytes where the kubelet, the kernel or a tenant writes: an answer or a refusal, in time."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.collectors.disk.filesystem import parse_mountinfo, uppermost
from exporter.collectors.workloads.kubelet import parse_checkpoint, parse_list
from exporter.collectors.workloads.kubelet_grpc import fields
from exporter.collectors.workloads.pod_logs import parse_container_log, parse_pod_folder
from exporter.collectors.workloads.processes import parse_passwd, parse_stat, parse_uid
from exporter.collectors.workloads.slurm import parse_environ
from exporter.reading.cgroup import parse_cgroup, roots_of_kubelet
from exporter.reading.source import SourceFailed
from tests.growth import is_linear

EXAMPLES = 300
UID = "3b1f0f6e-58c1-4b0e-9c0a-1f6f0d3c2b1a"
OTHER_UID = "99999999-9999-4999-8999-999999999999"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)
NAMES = st.text(st.characters(blacklist_characters="/\n\0", codec="utf-8"), min_size=1)
SEGMENTS = NAMES | st.sampled_from(
    [
        *("kubepods.slice", "kubepods", "burstable", "docker", "user-7.slice", "job_7", "slurm"),
        *(f"pod{OTHER_UID}", f"kubepods-pod{OTHER_UID}.slice"),
        *("e5" * 32, f"docker-{'e5' * 32}.scope"),
    ]
)
PATHS = st.lists(SEGMENTS, max_size=8).map("/".join)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_an_answer_of_the_kubelet_or_refused(message: bytes) -> None:
    """Nothing but a list of allocations, or the sentence that it is none."""
    try:
        assert all(allocation.devices for allocation in parse_list(message))
    except ValueError:
        return


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 500), st.binary(max_size=60)), max_size=8))
def test_fields_of_a_message_come_back_as_they_were_written(
    written: list[tuple[int, bytes]],
) -> None:
    """Numbers of one and of two bytes, contents of any bytes."""

    def varint(number: int) -> bytes:
        low, high = number & 0x7F, number >> 7
        return bytes([low | 0x80]) + varint(high) if high else bytes([low])

    message = b"".join(varint(n << 3 | 2) + varint(len(it)) + it for n, it in written)
    assert list(fields(message)) == written


@settings(max_examples=EXAMPLES, deadline=None)
@given(JSON, JSON)
def test_any_json_is_a_checkpoint_or_refused(document: object, entries: object) -> None:
    """Whatever stands where the allocations belong."""
    for tried in (document, {"Data": {"PodDeviceEntries": entries}}):
        try:
            parse_checkpoint(json.dumps(tried))
        except SourceFailed:
            continue


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    """No exception but the sources' own reaches a source."""
    parsers: tuple[Callable[[str], object], ...] = (
        parse_cgroup,
        roots_of_kubelet,
        parse_stat,
        parse_uid,
        parse_passwd,
        parse_environ,
        parse_pod_folder,
        parse_container_log,
    )
    for parse in parsers:
        parse(text)
    try:
        uppermost(parse_mountinfo(text))
    except SourceFailed:
        return


@settings(max_examples=EXAMPLES, deadline=None)
@given(PATHS, st.sampled_from(["0::", "4:memory:", "1:name=systemd:"]))
def test_no_path_below_a_pod_makes_it_another(below: str, hierarchy: str) -> None:
    """Any names of any characters that the kernel allows in names of control groups."""
    pod = f"/kubepods/burstable/pod{UID}/{'4f' * 32}"
    owner = parse_cgroup(f"{hierarchy}{pod}/{below}\n")
    assert (owner.pod_uid, owner.container_id) == (UID, "4f" * 32)
    user = parse_cgroup(f"{hierarchy}/user.slice/user-1000.slice/{below}\n")
    assert (user.unit or "").startswith("user-1000.slice")
    assert (user.pod_uid, user.container_id) == (None, None)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text(st.characters(blacklist_characters="\n\0", codec="utf-8"), max_size=15))
def test_no_name_of_a_process_is_a_line_of_its_status(name: str) -> None:
    """The kernel writes line feeds in names as two characters; nothing else ends a line."""
    status = f"Name:\t{name}\nUmask:\t0022\nUid:\t1000\t1000\t1000\t1000\n"
    assert parse_uid(status) == 1000
    stat = parse_stat(f"7 ({name}) S 1 " + " ".join(["5"] * 50))
    assert stat is not None
    assert (stat.state, stat.started_ticks) == ("sleeping", 5)


@pytest.mark.parametrize(
    ("parse", "make"),
    [
        (parse_cgroup, lambda n: "0::/" + "kubepods-" * (n // 9)),
        (parse_cgroup, lambda n: "0::/" + "docker-" + "a" * n),
        (parse_cgroup, lambda n: "0::/" + "a:" * (n // 2)),
        (parse_cgroup, lambda n: "0::/" + "_slurm" * (n // 6)),
        (parse_cgroup, lambda n: "0::/user-1.slice/a\n" * (n // 19)),
        (roots_of_kubelet, lambda n: "0::" + "/x" * (n // 2)),
        (parse_mountinfo, lambda n: "1 2 8:1 / /a" + "\\040" * (n // 4) + " rw - x y rw"),
        (parse_mountinfo, lambda n: "1 2 8:1 / /a rw - x y rw\n" * (n // 25)),
        (parse_stat, lambda n: "7 (" + ")" * n + " S" + " 5" * 50),
        (parse_uid, lambda n: "Uid:\n" * (n // 5)),
        (parse_environ, lambda n: "SLURM_JOB_ACCOUNT=a\0" * (n // 20)),
        (parse_environ, lambda n: "SLURM_JOB_ACCOUNT=" + "a" * n),
        (parse_pod_folder, lambda n: "a" * n + "_" * 3),
        (parse_container_log, lambda n: "a-" * (n // 2) + "_"),
        (lambda message: list(fields(message)), lambda n: b"\x0a\x00" * (n // 2)),
        (parse_checkpoint, lambda n: json.dumps({"Data": {"x": ["a" * 9] * (n // 12)}})),
    ],
)
def test_time_grows_with_length_and_no_faster(
    parse: Callable[[object], object], make: Callable[[int], object]
) -> None:
    """Sixteen times the input costs about sixteen times as much."""
    assert is_linear(parse, make, 256_000)
