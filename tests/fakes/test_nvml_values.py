"""Every kind of value the fake library can be told to say, seen through pynvml."""

from typing import Any

from tests.fakes.asking import ask
from tests.fakes.nvml_library import NvmlLibrary

FABRIC = "filled(c_nvmlGpuFabricInfo_{0}_t(), nvmlGpuFabricInfo_{0}, nvmlDeviceGetGpuFabricInfoV)"
SRAM_STATUS = "c_nvmlEccSramErrorStatus_v1_t(), nvmlEccSramErrorStatus_v1"
SRAM = f"filled({SRAM_STATUS}, nvmlDeviceGetSramEccErrorStatus)"
ROWS = """remapped_rows.corrected = 1
remapped_rows.uncorrected = 2
remapped_rows.pending = 1
remapped_rows.failed = 0"""
BANKS = """remap_banks.max = 640
remap_banks.high = 1
remap_banks.partial = 0
remap_banks.low = 0
remap_banks.none = 2"""

SAYS: list[tuple[str, str, Any]] = [
    ("clock.sm = 1980", "nvmlDeviceGetClockInfo(card(), NVML_CLOCK_SM)", 1980),
    ("max_clock.memory = 2619", "nvmlDeviceGetMaxClockInfo(card(), NVML_CLOCK_MEM)", 2619),
    ("app_clock.graphics = 1200", "nvmlDeviceGetClock(card(), 0, 1)", 1200),
    ("clock_reasons = 0x84", "nvmlDeviceGetCurrentClocksEventReasons(card())", 0x84),
    ("clock_reasons = 0x84", "nvmlDeviceGetCurrentClocksThrottleReasons(card())", 0x84),
    ("clock_reasons_supported = 511", "nvmlDeviceGetSupportedClocksEventReasons(card())", 511),
    ("violation.thermal = 99", "nvmlDeviceGetViolationStatus(card(), 1).violationTime", 99),
    ("performance_state = 2", "nvmlDeviceGetPerformanceState(card())", 2),
    ("fans = 2", "nvmlDeviceGetNumFans(card())", 2),
    ("fan.1 = 44", "nvmlDeviceGetFanSpeed_v2(card(), 1)", 44),
    ("fan_rpm.0 = 1500", "nvmlDeviceGetFanSpeedRPM(card())", 1500),
    ("threshold.slowdown = 87", "nvmlDeviceGetTemperatureThreshold(card(), 1)", 87),
    ("margin_temperature = -3", "nvmlDeviceGetMarginTemperature(card())", -3),
    ("pcie_generation = 4", "nvmlDeviceGetCurrPcieLinkGeneration(card())", 4),
    ("pcie_generation_max = 5", "nvmlDeviceGetMaxPcieLinkGeneration(card())", 5),
    ("pcie_width = 8", "nvmlDeviceGetCurrPcieLinkWidth(card())", 8),
    ("pcie_width_max = 16", "nvmlDeviceGetMaxPcieLinkWidth(card())", 16),
    ("pcie_replays = 12", "nvmlDeviceGetPcieReplayCounter(card())", 12),
    ("pcie_throughput.rx = 7", "nvmlDeviceGetPcieThroughput(card(), 1)", 7),
    ("bar1_total = 1 KiB\nbar1_used = 1", "nvmlDeviceGetBAR1MemoryInfo(card()).bar1Free", 1023),
    ("encoder_utilization = 5", "nvmlDeviceGetEncoderUtilization(card())", [5, 167000]),
    ("ofa_utilization = 6", "nvmlDeviceGetOfaUtilization(card())[0]", 6),
    ("power_limit_min = 1\npower_limit_max = 2",
     "nvmlDeviceGetPowerManagementLimitConstraints(card())", [1, 2]),
    ("energy = 123456789012", "nvmlDeviceGetTotalEnergyConsumption(card())", 123456789012),
    ("ecc_mode = 1", "nvmlDeviceGetEccMode(card())", [1, 1]),
    ("ecc.uncorrected.aggregate = 3", "nvmlDeviceGetTotalEccErrors(card(), 1, 1)", 3),
    ("ecc.corrected.volatile.dram = 4", "nvmlDeviceGetMemoryErrorCounter(card(), 0, 0, 2)", 4),
    ("sram.threshold_exceeded = 1\nsram.bucket.sm = 9", f"{SRAM}.aggregateUncBucketSm", 9),
    (ROWS, "nvmlDeviceGetRemappedRows(card())", [1, 2, 1, 0]),
    (BANKS, "nvmlDeviceGetRowRemapperHistogram(card()).none", 2),
    ("retired_pages.double_bit = 0x1000:1700 0x2000", "nvmlDeviceGetRetiredPages(card(), 1)",
     [0x1000, 0x2000]),
    ("retired_pages.double_bit = 0x1000:1700",
     "nvmlDeviceGetRetiredPages_v2(card(), 1)[0]['timestamp']", 1700),
    ("retired_pages.single_bit =", "nvmlDeviceGetRetiredPages(card(), 0)", []),
    ("retired_pages_pending = 1", "nvmlDeviceGetRetiredPagesPendingStatus(card())", 1),
    ("architecture = 9", "nvmlDeviceGetArchitecture(card())", 9),
    ("compute_capability = 9.0", "nvmlDeviceGetCudaComputeCapability(card())", [9, 0]),
    ("vbios = 96.00.74", "nvmlDeviceGetVbiosVersion(card())", "96.00.74"),
    ("board_part_number = 692-X", "nvmlDeviceGetBoardPartNumber(card())", "692-X"),
    ("numa_node = 1", "nvmlDeviceGetNumaNodeId(card())", 1),
    ("persistence_mode = 1", "nvmlDeviceGetPersistenceMode(card())", 1),
    ("compute_mode = 3", "nvmlDeviceGetComputeMode(card())", 3),
    ("gsp_mode = 1", "nvmlDeviceGetGspFirmwareMode(card())", [1, 1]),
    ("gsp_version = 550.1", "nvmlDeviceGetGspFirmwareVersion(card())", "550.1"),
    ("power_source = 1", "nvmlDeviceGetPowerSource(card())", 1),
    ("virtualization_mode = 2", "nvmlDeviceGetVirtualizationMode(card())", 2),
    ("topology.0 = 40", "nvmlDeviceGetTopologyCommonAncestor(card(), card())", 40),
    ("nvlink_links = 4\nnvlink.state = 1\nnvlink.2.state = 0",
     "[nvmlDeviceGetNvLinkState(card(), i) for i in range(4)]", [1, 1, 0, 1]),
    ("nvlink_links = 4\nnvlink.crc_flit = 2", "nvmlDeviceGetNvLinkErrorCounter(card(), 3, 2)", 2),
    ("nvlink_links = 4", "nvmlDeviceGetNvLinkState(card(), 4)", "error 3"),
    ("nvlink_links = 1\nnvlink.0.remote_bus_id = 00000000:C4:00.0",
     "nvmlDeviceGetNvLinkRemotePciInfo(card(), 0).bus", 0xC4),
    ("fabric_state = 3", f"{FABRIC.format('v2')}.state", 3),
    ("fabric_state = 3\nfabric_health_summary = 2", f"{FABRIC.format('v3')}.healthSummary", 2),
    ("fabric_state = 3\nfabric_version = 2", FABRIC.format("v3"), "error 25"),
    ("process_utilization = 9:50:20:0:0 8:1:2:3:4",
     "[[s.pid, s.smUtil] for s in nvmlDeviceGetProcessUtilization(card(), 0)]", [[9, 50], [8, 1]]),
    ("process_utilization = 9:50:20:0:0:0:0:1000",
     "nvmlDeviceGetProcessUtilization(card(), 1000)", "error 6"),
    ("process_utilization = 9:50:20:0:0:7:8",
     "nvmlDeviceGetProcessesUtilizationInfo(card(), 0)[0].ofaUtil", 8),
    ("memory_temperature = 71", "field(82)", 71),
    ("violation.hw_power_brake = 5", "field(271)", 5),
    ("threshold_margin.shutdown = -8", "field(193)", -8),
    ("recovery_action = 2", "field(NVML_FI_DEV_GET_GPU_RECOVERY_ACTION)", 2),
    ("retired_pages.double_bit = 0x1000 0x2000", "field(30)", 2),
    ("nvlink_links = 2\nnvlink.0.replay = 3\nnvlink.1.replay = 4", "field(52)", 7),
    ("nvlink_links = 2\nnvlink.tx_data_kib = 10", "field(138, 0xffffffff)", 20),
    ("nvlink_links = 2\nnvlink.1.tx_bytes = 11", "field(202, 1)", 11),
    ("field.299 = 17", "field(299)", 17),
    ("count = 1", "field(82)", "error 3"),
    ("memory_temperature = 71\nfield.82 = error 999", "field(82)", "error 999"),
]  # fmt: skip


def test_says(nvml: NvmlLibrary) -> None:
    """What a scenario says is what pynvml hands out, for every kind of value."""
    nvml.say("count = 1")
    steps = [(f"say('count = 1', {lines!r})", expression) for lines, expression, _ in SAYS]
    answers = ask(nvml, *(step for pair in steps for step in pair))[1::2]
    assert list(zip(SAYS, answers, strict=True)) == [(row, row[2]) for row in SAYS]


def test_processes_of_each_kind(nvml: NvmlLibrary) -> None:
    """Processes carry memory or its absence, and the ids of their MIG instances."""
    nvml.say(
        "count = 1",
        "compute_processes = 100:2048 101:na 102:4096:1:0",
        "graphics_processes =",
        "process.100.name = python",
    )
    answers = ask(
        nvml,
        "[[p.pid, p.usedGpuMemory] for p in nvmlDeviceGetComputeRunningProcesses(card())]",
        "nvmlDeviceGetComputeRunningProcesses(card())[2].gpuInstanceId",
        "nvmlDeviceGetGraphicsRunningProcesses(card())",
        "nvmlDeviceGetMPSComputeRunningProcesses(card())",
        "len(nvmlDeviceGetComputeRunningProcesses_v2(card()))",
        "nvmlSystemGetProcessName(100)",
        "nvmlSystemGetProcessName(101)",
    )
    assert answers == [
        [[100, 2048], [101, None], [102, 4096]],
        1,
        [],
        "error 3",
        3,
        "python",
        "error 6",
    ]


def test_mig_devices_have_values_of_their_own(nvml: NvmlLibrary) -> None:
    """A slice exists when its GPU instance is said; it does not speak for its parent."""
    nvml.say(
        "count = 1",
        "temperature = 40",
        "mig_mode = 1",
        "mig_count_max = 7",
        "device.0.mig.0.gpu_instance = 1",
        "device.0.mig.0.uuid = MIG-1",
        "device.0.mig.0.memory_total = 100",
        "device.0.mig.0.memory_used = 25",
        "device.0.mig.0.attributes.memory_mib = 4864",
        "device.0.mig.0.attributes.gpu_slices = 1",
        "mig.compute_instance = 0",
    )
    answers = ask(
        nvml,
        "nvmlDeviceGetMigMode(card())",
        "nvmlDeviceGetUUID(mig())",
        "nvmlDeviceGetGpuInstanceId(mig())",
        "nvmlDeviceGetComputeInstanceId(mig())",
        "nvmlDeviceGetMemoryInfo(mig()).free",
        "nvmlDeviceGetAttributes(mig()).memorySizeMB",
        "nvmlDeviceGetTemperature(mig(), 0)",
        "nvmlDeviceGetUUID(mig(1))",
        "nvmlDeviceGetIndex(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig()))",
        "nvmlDeviceIsMigDeviceHandle(nvmlDeviceGetHandleByUUID('MIG-1')).value",
        "nvmlDeviceIsMigDeviceHandle(card()).value",
    )
    assert answers == [[1, 1], "MIG-1", 1, 0, 75, 4864, "error 3", "error 6", 0, 1, 0]
