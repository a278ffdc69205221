"""Lines of amdgpu and of its compute driver, in the wordings of kernels 5.3 to 6.18."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event

GPU = ("gpu", "0000:03:00.0")
NODE = ("node", "")
AT = "amdgpu 0000:03:00.0: amdgpu: "
OLD = "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* "

CASES: tuple[Case, ...] = (
    (
        "gpu_ring_timeout",
        GPU,
        {"ring": "gfx_0.0.0", "name": "llama-server", "pid": "4711", "thread": "llama-serv:cs0"},
        (
            AT + "ring gfx_0.0.0 timeout, signaled seq=7073226, emitted seq=7073228",
            AT
            + "Process information: process llama-server pid 4711 thread llama-serv:cs0 pid 4712",
            AT + "GPU reset begin!",
        ),
    ),
    (
        "gpu_ring_timeout",
        GPU,
        {"ring": "comp_1.2.0", "source": "1"},
        (
            "amdgpu 0000:03:00.0: ring comp_1.2.0 timeout, signaled seq=140118, emitted seq=140120",
            "amdgpu 0000:03:00.0: GPU reset begin!. Source:  1",
        ),
    ),
    (
        "gpu_ring_timeout",
        GPU,
        {"ring": "gfx", "name": "gnome-shell", "pid": "977"},
        (
            OLD + "ring gfx timeout, signaled seq=73, emitted seq=75",
            OLD + "Process information: process gnome-shell pid 977 thread gnome-shel:cs0 pid 1005",
            "amdgpu 0000:03:00.0: GPU reset begin!",
        ),
    ),
    (
        "gpu_ring_timeout",
        NODE,
        {"ring": "sdma0"},
        (OLD + "ring sdma0 timeout, signaled seq=1, emitted seq=3",),
    ),
    ("gpu_reset", GPU, {"count": "1"}, (AT + "GPU reset(1) succeeded!",)),
    (
        "gpu_reset",
        GPU,
        {"ring": "gfx_0.0.0"},
        ("amdgpu 0000:03:00.0: [drm] *ERROR* Ring gfx_0.0.0 reset succeeded",),
    ),
    (
        "gpu_reset_failed",
        GPU,
        {"result": "-110"},
        (AT + "GPU reset(2) failed with error -110 ", AT + "GPU reset end with ret = -110"),
    ),
    (
        "gpu_reset_failed",
        GPU,
        {"result": "-19"},
        (AT + "GPU reset end with ret = -19", OLD + "GPU Recovery Failed: -19"),
    ),
    ("gpu_reset_failed", GPU, {}, (AT + "GPU reset(2) failed",)),
    ("gpu_lost", GPU, {"form": "lost from bus"}, (AT + "device lost from bus!",)),
    (
        "gpu_ras_uncorrected",
        GPU,
        {"count": "2", "block": "umc"},
        (AT + "2 uncorrectable hardware errors detected in umc block",),
    ),
    (
        "gpu_ras_uncorrected",
        GPU,
        {"count": "1", "block": "gfx", "socket": "0", "die": "3"},
        (AT + "{17}socket: 0, die: 3, 1 new uncorrectable hardware errors detected in gfx block",),
    ),
    (
        "gpu_ras_uncorrected",
        GPU,
        {"block": "ERREVENT_ATHUB_INTERRUPT"},
        (AT + "uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",),
    ),
    (
        "gpu_bad_page_threshold",
        GPU,
        {"count": "260", "threshold": "256"},
        (
            AT + "RAS records:260 exceed threshold:256, GPU will not be initialized. "
            "Replace this GPU or increase the threshold",
        ),
    ),
    (
        "gpu_bad_page_threshold",
        GPU,
        {"count": "256", "threshold": "256"},
        (AT + "Saved bad pages 256 reaches threshold value 256",),
    ),
    (
        "gpu_page_fault",
        GPU,
        {"hub": "gfxhub0", "name": "python", "pid": "4277", "address": "0x0000000000000000"},
        (
            AT + "[gfxhub0] no-retry page fault (src_id:0 ring:40 vmid:8 pasid:32776, "
            "for process python pid 4277 thread python pid 4277)",
            AT + "  in page starting at address 0x0000000000000000 from IH client 0x1b (UTCL2)",
        ),
    ),
    (
        "gpu_page_fault",
        GPU,
        {"hub": "gfxhub", "name": "VLLM::EngineCor", "pid": "7304"},
        (
            AT + "[gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32771)",
            AT + " Process VLLM::EngineCor pid 7304 thread VLLM::EngineCor pid 7304",
            AT + "  in page starting at address 0x00007ff512a04000 from client 10",
        ),
    ),
    ("gpu_init_failed", GPU, {}, ("amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init",)),
    (
        "gpu_probe_failed",
        GPU,
        {"error": "-22"},
        ("amdgpu: probe of 0000:03:00.0 failed with error -22",),
    ),
    (
        "gpu_probe_failed",
        GPU,
        {"error": "-19"},
        ("amdgpu 0000:03:00.0: probe with driver amdgpu failed with error -19",),
    ),
    (
        "gpu_firmware_timeout",
        GPU,
        {"firmware": "MES", "message": "REMOVE_QUEUE"},
        (AT + "MES(1) failed to respond to msg=REMOVE_QUEUE",),
    ),
    (
        "gpu_bad_page_threshold",
        GPU,
        {"count": "256", "threshold": "256"},
        AT + "Saved bad pages(256) reaches threshold value(256).",
    ),
    ("gpu_bad_page_threshold", GPU, {}, AT + "This GPU is in BAD status."),
    (
        "gpu_bad_page_threshold",
        GPU,
        {},
        AT + "Exceeding the bad_page_threshold parameter, disabling the GPU.",
    ),
    (
        "gpu_ras_uncorrected",
        GPU,
        {},
        AT + "poison is consumed by client 18, kick off gpu reset flow",
    ),
    (
        "gpu_ras_uncorrected",
        GPU,
        {},
        AT + "RAS poison consumption, unmap queue flow succeeded: client id 18",
    ),
    (
        "gpu_firmware_timeout",
        GPU,
        {"firmware": "cp"},
        AT + "The cp might be in an unrecoverable state due to an unsuccessful queues preemption",
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_a_line_of_amdgpu_is_one_event(case: Case) -> None:
    """Each message, of one line or of several, is one event about the GPU it names."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        AT + "ring comp_1.0.1 timeout, but soft recovered",
        AT + "0 uncorrectable hardware errors detected in umc block",
        AT + "no uncorrectable hardware errors detected in umc block",
        AT + "socket: 0, die: 0, 7 uncorrectable hardware errors detected in total in umc block",
        AT + "7 correctable hardware errors detected in umc block",
        AT + "socket: 0, die: 0, 3 new deferred hardware errors detected in umc block",
        AT + "GPU reset begin!",
        AT + "GPU reset succeeded, trying to resume",
        AT + "GPU reset end with ret = 0",
        AT + "Process information: process python3 pid 1 thread python3 pid 2",
        AT + " Process python3 pid 1 thread python3 pid 2",
        AT + "  in page starting at address 0x0000000000000000 from IH client 0x1b (UTCL2)",
        AT + "Starting gfx_0.0.0 ring reset",
        AT + "SMU is initialized successfully!",
        AT + "MEM ECC is active.",
        "panfrost 0000:03:00.0: Fatal error during GPU init",
        "radeon 0000:03:00.0: ring 0 stalled for more than 10240msec",
        "[drm:gsgpu_job_timedout [gsgpu]] *ERROR* ring gfx timeout, signaled seq=1, emitted seq=3",
        "nouveau 0000:03:00.0: device lost from bus!",
        "[drm] amdgpu kernel modesetting enabled.",
        "[drm] VRAM is lost due to GPU reset!",
        "amdgpu: probe of nothing failed with error -22",
    ],
)
def test_other_words_of_amdgpu_are_no_event(line: str) -> None:
    """What was recovered, counts of nothing, totals, parts without their head, other drivers."""
    assert events_of(line) == ()


def test_two_gpus_that_time_out_together_are_two_events() -> None:
    """A reset is of the GPU that it names."""
    events = events_of(
        AT + "ring gfx timeout, signaled seq=1, emitted seq=3",
        AT.replace("03:", "23:") + "ring gfx timeout, signaled seq=1, emitted seq=3",
        AT + "GPU reset begin!. Source:  1",
    )
    assert [event.entity_id for event in events] == ["0000:03:00.0", "0000:23:00.0"]


def test_a_process_cannot_name_another() -> None:
    """A name made of the words around it stays the name: the pid is the kernel's own."""
    name = "x pid 1 thread "
    (event,) = events_of(
        AT + "ring gfx timeout, signaled seq=1, emitted seq=3",
        AT + f"Process information: process {name} pid 4711 thread {name} pid 4712",
    )
    assert event.fields["pid"] == "4711"
