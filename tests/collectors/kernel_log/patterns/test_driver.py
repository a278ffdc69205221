"""Lines of the NVIDIA driver besides Xids, of its switches, and of its fabric manager."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event, only_event

GPU = ("gpu", "0000:3b:00.0")
NODE = ("node", "")
SWITCH = ("nvswitch", "0000:86:00.0")
SX = "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): "
FM = "[Nov 20 2025 10:11:12] [ERROR] [tid 1201] "

CASES: tuple[Case, ...] = (
    (
        "gpu_lost",
        GPU,
        {"serial": "1320000000001"},
        (
            "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
            "NVRM: GPU 0000:3b:00.0: GPU serial number is 1320000000001.",
        ),
    ),
    ("gpu_lost", GPU, {}, ("NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",)),
    (
        "gpu_lost",
        GPU,
        {"ids": "10de:2330"},
        (
            (
                "NVRM: The NVIDIA GPU 0000:3b:00.0\nNVRM: (PCI ID: "
                "10de:2330) installed in this system"
                " has\nNVRM: fallen off the bus and is not responding to commands."
            ),
        ),
    ),
    (
        "gpu_lost",
        GPU,
        {"ids": "10de:2330"},
        (
            "NVRM: The NVIDIA GPU 0000:3b:00.0",
            "NVRM: (PCI ID: 10de:2330) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands.",
        ),
    ),
    (
        "gpu_init_failed",
        GPU,
        {"init_code": "0x26", "init_status": "0x56", "init_line": "1482", "minor": "2"},
        (
            "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x26:0x56:1482)",
            "NVRM: GPU 0000:3b:00.0: rm_init_adapter failed, device minor number 2",
        ),
    ),
    (
        "uvm_fatal_error",
        NODE,
        {"status": "NV_ERR_RC_ERROR"},
        (
            (
                "nvidia-uvm: uvm_global.c:388 uvm_global_set_fatal_error_impl[pid:4711] "
                "Encountered a global fatal error: Generic RC error [NV_ERR_RC_ERROR]"
            ),
        ),
    ),
    (
        "uvm_fatal_error",
        NODE,
        {"status": "0x60"},
        (
            (
                "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, "
                "requiring os reboot to recover."
            ),
        ),
    ),
    (
        "gpu_init_failed",
        NODE,
        {"init_code": "0x31"},
        ("NVRM: RmInitAdapter failed! (0x31:0xffff:967)", "NVRM: rm_init_adapter(0) failed"),
    ),
    (
        "gpu_probe_failed",
        NODE,
        {"count": "1"},
        (
            "NVRM: The NVIDIA probe routine failed for 1 device(s).",
            "NVRM: None of the NVIDIA devices were initialized.",
        ),
    ),
    ("gpu_probe_failed", NODE, {}, ("NVRM: No NVIDIA devices probed.",)),
    (
        "gpu_power_missing",
        GPU,
        {},
        ("NVRM: GPU 0000:3b:00.0: GPU does not have the necessary power cables connected.",),
    ),
    (
        "driver_version_mismatch",
        NODE,
        {
            "client": "nvidia-smi",
            "pid": "2210",
            "client_version": "595.45.04",
            "module_version": "570.124.06",
        },
        (
            "NVRM: API mismatch: the client 'nvidia-smi' (pid 2210)",
            "NVRM: has the version 595.45.04, but this kernel module has",
            "NVRM: the version 570.124.06.  Please make sure that this",
            "NVRM: kernel module and all NVIDIA driver components",
            "NVRM: have the same version.",
        ),
    ),
    (
        "driver_version_mismatch",
        NODE,
        {"client_version": "550.54.15", "module_version": "535.161.08"},
        (
            (
                "NVRM: API mismatch: the client has the version 550.54.15, but\n"
                "NVRM: this kernel module has the version 535.161.08.  Please\n"
                "NVRM: make sure that this kernel module and all NVIDIA driver\n"
                "NVRM: components have the same version."
            ),
        ),
    ),
    (
        "gpu_uuid",
        GPU,
        {"uuid": "GPU-0a1b2c3d-1111-2222-3333-444455556666", "serial": "1320000000001"},
        (
            "NVRM: GPU at PCI:0000:3b:00: GPU-0a1b2c3d-1111-2222-3333-444455556666",
            "NVRM: GPU Board Serial Number: 1320000000001",
        ),
    ),
    (
        "driver_loaded",
        NODE,
        {"version": "595.45.04"},
        ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  595.45.04",),
    ),
    (
        "driver_loaded",
        NODE,
        {"version": "570.124.06"},
        ("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build",),
    ),
    (
        "xid_rate_limited",
        GPU,
        {"every": "30"},
        (
            (
                "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:3b:00 "
                "(printing 1 of every 30).  The GPU likely needs to be reset."
            ),
        ),
    ),
    (
        "nvlink_discovery_failed",
        NODE,
        {},
        ("NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!",),
    ),
    (
        "nvlink_discovery_failed",
        NODE,
        {"peer": "3"},
        ("NVRM: GPU0 knvlinkDiscover_GH100: Getting peer3's postRxDetLinkMask failed!",),
    ),
    (
        "driver_no_memory",
        NODE,
        {},
        (
            (
                "NVRM: nvAssertOkFailedNoLog: Assertion failed: Out of memory [NV_ERR_NO_MEMORY] "
                "(0x00000051) returned from memmgrAllocate(pGpu) @ mem.c:512"
            ),
        ),
    ),
    (
        "peermem_error",
        NODE,
        {},
        ("nvidia-peermem: ERROR detected invalid context, skipping further processing",),
    ),
    (
        "peermem_error",
        NODE,
        {},
        (
            (
                "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, "
                "skipping further processing"
            ),
        ),
    ),
    (
        "sxid",
        SWITCH,
        {"switch": "1", "code": "12022", "severity": "Fatal", "link": "21"},
        (SX + "12022, Fatal, Link 21 egress input ECC DBE error (First)",),
    ),
    (
        "sxid",
        SWITCH,
        {"code": "10001", "severity": "Non-fatal", "link": None},
        (SX + "10001, Non-fatal, PRI WRITE SYS error, instance=2, chiplet=1",),
    ),
    (
        "sxid",
        SWITCH,
        {"code": "10004", "severity": None},
        (SX + "10004, Thermal Slowdown Engaged | Temp higher than WARN Threshold",),
    ),
    ("sxid", SWITCH, {"severity": "Correctable"}, (SX + "11012, Correctable, Link 03 x",)),
    (
        "sxid",
        SWITCH,
        {"code": "12022"},
        (
            SX + "12022, Fatal, Link 21 egress input ECC DBE error (First)",
            SX + "12022, Severity 1 Engine instance 21 Sub-engine instance 00",
            SX + "12022, Data {0x00000001, 0x00000000, 0x00000000}",
            SX + "12022, Fatal, Link 21 egress input ECC DBE error (First)",
        ),
    ),
    (
        "fabric_manager_error",
        SWITCH,
        {"code": "20034", "severity": "fatal", "link": "33", "switch": "3"},
        (
            FM + "detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id "
            "00000000:86:00.0 physical id 3 port 33",
        ),
    ),
    (
        "fabric_manager_error",
        NODE,
        {},
        (
            FM + "detected number of NVSwitches don't match with any supported system topology, "
            "aborting fabric manager",
        ),
    ),
    (
        "fabric_manager_error",
        NODE,
        {"handle": "42"},
        (FM + "failed to find the GPU handle 42 in the multicast team request",),
    ),
    (
        "gpu_probe_failed",
        NODE,
        {"count": "2"},
        "NVRM: The NVIDIA probe routine was not called for 2 device(s).",
    ),
    ("gpu_probe_failed", NODE, {}, "NVRM: No NVIDIA GPU found."),
    (
        "gpu_probe_failed",
        GPU,
        {"error": "-1"},
        "nvidia: probe of 0000:3b:00.0 failed with error -1",
    ),
    (
        "gpu_probe_failed",
        GPU,
        {"error": "-22"},
        "nvidia 0000:3b:00.0: probe with driver nvidia failed with error -22",
    ),
    (
        "gpu_locked",
        NODE,
        {"seconds": "7", "index": None},
        "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",
    ),
    (
        "gpu_locked",
        NODE,
        {"index": "6"},
        (
            "NVRM: GPU6 krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout "
            "Seconds: 7"
        ),
    ),
    (
        "gpu_lost",
        GPU,
        {"form": "fallen off the bus"},
        "NVRM: GPU at 0000:3b:00.0 has fallen off the bus.",
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_a_line_of_the_driver_is_one_event(case: Case) -> None:
    """Each message, of one line or of several, in one record or in several, is one event."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        "nouveau 0000:3b:00.0: probe with driver nouveau failed with error -22",
        "nvidia-modeset: probe of 0000:3b:00.0 failed with error -1",
        "NVRM: krcWatchdogInit_IMPL: RC watchdog: initialized",
        "NVRM: The NVIDIA GPU 0000:3b:00.0",
        "NVRM: fallen off the bus and is not responding to commands.",
        "NVRM: GPU Board Serial Number: 1320000000001",
        "NVRM: GPU 0000:3b:00.0: GPU is on Board .",
        "NVRM: A GPU crash dump has been created. If possible, please run",
        "NVRM: the version 570.124.06.  Please make sure that this",
        "NVRM: GPU 0000:3b:00.0: RmInitAdapter succeeded",
        "NVRM: GPU at PCI:0000:3b:00: GPU-",
        "NVRM: nvAssertFailedNoLog: Assertion failed: pMem != NULL @ mem.c:512",
        "nvidia-peermem: loading out-of-tree module taints kernel.",
        "nvidia-nvswitch2: open (major=510)",
        "nvidia-nvswitch1: SXid thermal",
        SX + "12022, Severity 1 Engine instance 21 Sub-engine instance 00",
        SX + "12022, Data {0x00000001, 0x00000000}",
        "nvidia 0000:3b:00.0: enabling device (0140 -> 0142)",
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 236",
        "[drm] [nvidia-drm] [GPU ID 0x00003b00] Loading driver",
    ],
)
def test_other_words_of_the_driver_are_no_event(line: str) -> None:
    """Parts of messages without their head, dumps and notices say nothing by themselves."""
    assert events_of(line) == ()


def test_a_lost_gpu_is_one_event_however_often_it_is_said() -> None:
    """Xid 79, the short and the long form within five seconds are one: that of the Xid."""
    lines = (
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=0, GPU has fallen off the bus.",
        "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
        "NVRM: GPU 0000:3b:00.0: GPU serial number is 1320000000001.",
        "NVRM: The NVIDIA GPU 0000:3b:00.0",
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    )
    assert only_event(*lines).kind == "xid"
    assert [event.kind for event in events_of(*lines[1:], apart_secs=0.5)] == ["gpu_lost"]


def test_two_lost_gpus_are_two_events() -> None:
    """What is one is told by the GPU."""
    events = events_of(
        "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
        "NVRM: GPU 0000:5e:00.0: GPU has fallen off the bus.",
        "NVRM: GPU 0000:5e:00.0: GPU serial number is 7.",
    )
    assert [(event.entity_id, event.fields.get("serial")) for event in events] == [
        ("0000:3b:00.0", None),
        ("0000:5e:00.0", "7"),
    ]


def test_the_same_switch_error_on_another_link_or_later_is_another_event() -> None:
    """SXids are one only for the same switch, code and link within a second."""
    line = SX + "12023, Non-fatal, Link 21 egress output ECC error limit"
    assert len(events_of(line, line.replace("21", "22"))) == 2
    assert len(events_of(line, line, apart_secs=1.5)) == 2
