"""Recorded texts of `nvidia-smi -q` as the document that `-q -x` prints of the same values."""

import re
from xml.sax.saxutils import escape

ELEMENTS = {
    "Product Name": "product_name",
    "Product Architecture": "product_architecture",
    "Persistence Mode": "persistence_mode",
    "MIG Mode/Current": "mig_mode/current_mig",
    "MIG Mode/Pending": "mig_mode/pending_mig",
    "Serial Number": "serial",
    "GPU UUID": "uuid",
    "Minor Number": "minor_number",
    "VBIOS Version": "vbios_version",
    "Board Part Number": "board_part_number",
    "GPU Part Number": "gpu_part_number",
    "GPU Recovery Action": "gpu_recovery_action",
    "GSP Firmware Version": "gsp_firmware_version",
    "PCI/Bus Id": "pci/pci_bus_id",
    "PCI/GPU Link Info/PCIe Generation/Max": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "PCI/GPU Link Info/PCIe Generation/Current": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "PCI/GPU Link Info/Link Width/Max": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "PCI/GPU Link Info/Link Width/Current": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "PCI/Replays Since Reset": "pci/replay_counter",
    "Fan Speed": "fan_speed",
    "Performance State": "performance_state",
    "Compute Mode": "compute_mode",
    "Utilization/GPU": "utilization/gpu_util",
    "ECC Mode/Current": "ecc_mode/current_ecc",
    "ECC Mode/Pending": "ecc_mode/pending_ecc",
    "ECC Errors/Channel Repair Pending": "ecc_errors/channel_repair_pending",
    "ECC Errors/TPC Repair Pending": "ecc_errors/tpc_repair_pending",
    "ECC Errors/Unrepairable Memory": "ecc_errors/unrepairable_memory",
    "Retired Pages/Single Bit ECC": "retired_pages/multiple_single_bit_retirement/retired_count",
    "Retired Pages/Double Bit ECC": "retired_pages/double_bit_retirement/retired_count",
    "Retired Pages/Pending Page Blacklist": "retired_pages/pending_blacklist",
    "Remapped Rows": "remapped_rows",
    "Remapped Rows/Correctable Error": "remapped_rows/remapped_row_corr",
    "Remapped Rows/Uncorrectable Error": "remapped_rows/remapped_row_unc",
    "Remapped Rows/Pending": "remapped_rows/remapped_row_pending",
    "Remapped Rows/Remapping Failure Occurred": "remapped_rows/remapped_row_failure",
    "Temperature/GPU Current Temp": "temperature/gpu_temp",
    "Temperature/GPU T.Limit Temp": "temperature/gpu_temp_tlimit",
    "Temperature/GPU Shutdown Temp": "temperature/gpu_temp_max_threshold",
    "Temperature/GPU Slowdown Temp": "temperature/gpu_temp_slow_threshold",
    "Temperature/GPU Max Operating Temp": "temperature/gpu_temp_max_gpu_threshold",
    "Temperature/GPU Shutdown T.Limit Temp": "temperature/gpu_temp_max_tlimit_threshold",
    "Temperature/GPU Slowdown T.Limit Temp": "temperature/gpu_temp_slow_tlimit_threshold",
    "Temperature/GPU Max Operating T.Limit Temp": "temperature/gpu_temp_max_gpu_tlimit_threshold",
    "Temperature/Memory Max Operating T.Limit Temp": (
        "temperature/gpu_temp_max_mem_tlimit_threshold"
    ),
    "Temperature/GPU Target Temperature": "temperature/gpu_target_temperature",
    "Temperature/Memory Current Temp": "temperature/memory_temp",
    "Temperature/Memory Max Operating Temp": "temperature/gpu_temp_max_mem_threshold",
    "Fabric/State": "fabric/state",
    "Fabric/Status": "fabric/status",
    "Fabric/CliqueId": "fabric/cliqueId",
    "GPU Power Readings/Power Draw": "gpu_power_readings/power_draw",
    "GPU Power Readings/Average Power Draw": "gpu_power_readings/average_power_draw",
    "GPU Power Readings/Instantaneous Power Draw": "gpu_power_readings/instant_power_draw",
    "GPU Power Readings/Current Power Limit": "gpu_power_readings/current_power_limit",
    "GPU Power Readings/Requested Power Limit": "gpu_power_readings/requested_power_limit",
    "GPU Power Readings/Default Power Limit": "gpu_power_readings/default_power_limit",
    "GPU Power Readings/Min Power Limit": "gpu_power_readings/min_power_limit",
    "GPU Power Readings/Max Power Limit": "gpu_power_readings/max_power_limit",
    **{
        f"{group}/{label}": f"{group.lower().replace(' ', '_')}/{label.lower()}"
        for group in ("FB Memory Usage", "BAR1 Memory Usage")
        for label in ("Total", "Reserved", "Used", "Free")
    },
    **{
        f"Utilization/{label}": f"utilization/{label.lower()}_util"
        for label in ("Memory", "Encoder", "Decoder", "JPEG", "OFA")
    },
    **{
        f"{group}/{label}": f"{group.lower().replace(' ', '_')}/{name}_clock"
        for group in ("Clocks", "Max Clocks")
        for label, name in (
            ("Graphics", "graphics"),
            ("SM", "sm"),
            ("Memory", "mem"),
            ("Video", "video"),
        )
    },
    **{
        f"Clocks Event Reasons/{label}": f"clocks_event_reasons/clocks_event_reason_{name}"
        for label, name in (
            ("Idle", "gpu_idle"),
            ("Applications Clocks Setting", "applications_clocks_setting"),
            ("SW Power Cap", "sw_power_cap"),
            ("HW Slowdown", "hw_slowdown"),
            ("HW Slowdown/HW Thermal Slowdown", "hw_thermal_slowdown"),
            ("HW Slowdown/HW Power Brake Slowdown", "hw_power_brake_slowdown"),
            ("Sync Boost", "sync_boost"),
            ("SW Thermal Slowdown", "sw_thermal_slowdown"),
            ("Display Clock Setting", "display_clocks_setting"),
        )
    },
    **{
        f"Clocks Event Reasons Counters/{label}": (
            f"clocks_event_reasons_counters/clocks_event_reasons_counters_{name}"
        )
        for label, name in (
            ("SW Power Capping", "sw_power_cap"),
            ("Sync Boost", "sync_boost"),
            ("SW Thermal Slowdown", "sw_therm_slowdown"),
            ("HW Thermal Slowdown", "hw_therm_slowdown"),
            ("HW Power Braking", "hw_power_brake"),
        )
    },
    **{
        f"ECC Errors/{counter}/{label}": f"ecc_errors/{counter.lower()}/{name}"
        for counter in ("Volatile", "Aggregate")
        for label, name in (
            ("SRAM Correctable", "sram_correctable"),
            ("SRAM Uncorrectable", "sram_uncorrectable"),
            ("SRAM Uncorrectable Parity", "sram_uncorrectable_parity"),
            ("SRAM Uncorrectable SEC-DED", "sram_uncorrectable_secded"),
            ("DRAM Correctable", "dram_correctable"),
            ("DRAM Uncorrectable", "dram_uncorrectable"),
            ("SRAM Threshold Exceeded", "sram_threshold_exceeded"),
        )
    },
    **{
        f"Remapped Rows/Bank Remap Availability Histogram/{label}": (
            f"remapped_rows/row_remapper_histogram/row_remapper_histogram_{label.lower()}"
        )
        for label in ("Max", "High", "Partial", "Low", "None")
    },
}
"""The element of each line of the text, by the labels that lead to it."""

IN_LISTS = {
    "Index": "index",
    "GPU Instance ID": "gpu_instance_id",
    "Compute Instance ID": "compute_instance_id",
    "Shared FB Memory Usage/Total": "fb_memory_usage/total",
    "Shared FB Memory Usage/Used": "fb_memory_usage/used",
    "GPU instance ID": "gpu_instance_id",
    "Compute instance ID": "compute_instance_id",
    "Process ID": "pid",
    "Process ID/Type": "type",
    "Process ID/Used GPU Memory": "used_memory",
}
"""The same inside of a MIG device and of a process."""


def xml_of_log(text: str) -> str:
    """The document of a text; lines that have no element here are left out."""
    versions, *gpus = re.split(r"^GPU (?=[0-9A-F]{8}:)", text, flags=re.MULTILINE)
    head = "".join(
        f"<{name}>{match[1]}</{name}>\n"
        for label, name in (("Driver Version", "driver_version"), ("CUDA Version", "cuda_version"))
        if (match := re.search(rf"^{label} +: (.+)$", versions, re.MULTILINE))
    )
    return f"<nvidia_smi_log>\n{head}{''.join(map(_gpu, gpus))}</nvidia_smi_log>\n"


def _gpu(text: str) -> str:
    bus_id, _, body = text.partition("\n")
    leaves: list[tuple[str, str]] = []
    lists: dict[str, list[list[tuple[str, str]]]] = {"mig_devices": [], "processes": []}
    item: list[tuple[str, str]] | None = None
    for path, value in _lines(body):
        labels = path.split("/")
        if labels[0] == "MIG Device":
            if len(labels) == 1:
                item = []
                lists["mig_devices"].append(item)
            _add(item, IN_LISTS.get("/".join(labels[1:])), value)
        elif labels[0] == "Processes":
            if labels[1:] == ["GPU instance ID"]:
                item = []
                lists["processes"].append(item)
            _add(item, IN_LISTS.get("/".join(labels[1:])), value)
        else:
            _add(leaves, ELEMENTS.get(path), value)
    for name, element in (("mig_devices", "mig_device"), ("processes", "process_info")):
        inside = "".join(f"<{element}>\n{_tree(each)}</{element}>\n" for each in lists[name])
        leaves.append((name, f"\n{inside}"))
    return f'<gpu id="{bus_id.strip()}">\n{_tree(leaves)}</gpu>\n'


def _lines(body: str) -> list[tuple[str, str | None]]:
    """The labels that lead to each line, by its indentation, and its value if it has one."""
    found: list[tuple[str, str | None]] = []
    stack: list[str] = []
    for line in body.splitlines():
        depth = (len(line) - len(line.lstrip())) // 4
        label, colon, value = line.strip().partition(" : ")
        if depth == 0 or not label:
            continue
        stack[depth - 1 :] = [label.strip()]
        found.append(("/".join(stack), value.strip() if colon else None))
    return found


def _add(leaves: list[tuple[str, str]] | None, path: str | None, value: str | None) -> None:
    if leaves is not None and path is not None and value is not None:
        leaves.append((path, escape(value)))


def _tree(leaves: list[tuple[str, str]]) -> str:
    """Leaves by path as nested elements; groups are repeated where they are not together."""
    return "".join(
        "".join(f"<{part}>" for part in path.split("/"))
        + value
        + "".join(f"</{part}>" for part in reversed(path.split("/")))
        + "\n"
        for path, value in leaves
    )
