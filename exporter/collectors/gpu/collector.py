"""The collector of GPUs."""

from pathlib import Path

from exporter.collector import Collector, SourceRow
from exporter.collectors.gpu import families, identity_families
from exporter.collectors.gpu.cache import dated
from exporter.collectors.gpu.entities import (
    FIELDS,
    GPU,
    NVLINK,
    NVSWITCH,
    gpus_of_links,
    names_of_places,
    title_of_link,
)
from exporter.collectors.gpu.repairs import OF_NUMBERED, GpuRepairs
from exporter.collectors.gpu.source import build_gpu
from exporter.collectors.gpu.values import Gpus
from exporter.collectors.gpu.xids import families as xid_families
from exporter.collectors.gpu.xids.interpretation import (
    NVML,
    Catalogued,
    RecordedXids,
    feed,
    is_reported_better,
    names_of_codes,
    xid_item,
)
from exporter.faults.replay.snapshots import RecordedEvents
from exporter.faults.subject import CollectorSubject

_GPU_IN_RECORDINGS = ("Gpus", "states", "*", "gpu")
_OLD_REASONS = {
    "idle": "gpu_idle",
    "app_clocks": "applications_clocks_setting",
    "sw_thermal": "sw_thermal_slowdown",
    "hw_thermal": "hw_thermal_slowdown",
    "hw_power_brake": "hw_power_brake_slowdown",
    "display": "display_clock_setting",
}
OLD_NAMES = {
    _GPU_IN_RECORDINGS: {
        "clock_limit_active": "throttle_active",
        "clock_limit_seconds_total": "throttle_seconds_total",
    },
    (*_GPU_IN_RECORDINGS, "clock_limit_active"): _OLD_REASONS,
    (*_GPU_IN_RECORDINGS, "clock_limit_seconds_total"): _OLD_REASONS,
    ("Gpus", "xids", "*"): {"uuid": "gpu"},
}

COLLECTOR = Collector(
    "gpu",
    sources=(
        SourceRow("gpu", "gpu", build_gpu, is_asked_for=lambda config: config.gpu.backend != "off"),
    ),
    values=(Gpus,),
    recorded=RecordedEvents("xid", Gpus, lambda: RecordedXids().events, xid_item, dated),
    old_names=OLD_NAMES,
    families=(
        *families.FAMILIES,
        *identity_families.FAMILIES,
        *families.FIELD_FAMILIES,
        *xid_families.FAMILIES,
        *identity_families.MIG_FAMILIES,
    ),
    live_families=families.live_families,
    subject=CollectorSubject(
        kinds=(GPU, NVLINK, NVSWITCH),
        node=FIELDS,
        feeds=(feed,),
        event_kinds={"xid": frozenset({NVML}), "error.hw": frozenset({NVML})},
        interpreter=Catalogued,
        repairs=GpuRepairs,
        repair_kinds=frozenset(
            {"gpu_reset", "some_gpu_reset", "switch_links_up", *OF_NUMBERED.values()}
        ),
        names=names_of_places,
        joins=(gpus_of_links,),
        reported_twice=frozenset({"xid", "gpu_recovery_action"}),
        names_processes=frozenset({"xid"}),
        usual_texts={
            "reset_command": "nvidia-smi --gpu-reset",
            "reset_note": "and what else uses it",
            "diagnostic": "`dcgmi diag -r 3`",
        },
        is_reported_better=is_reported_better,
        title=title_of_link,
    ),
    rules=Path(__file__).parent / "rules",
    event_names=names_of_codes,
)
