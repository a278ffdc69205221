"""Plausible bounds of GPU values."""

_PERCENT = (0, 100)
_BYTES = (0, 2**50)
_WATTS = (0, 100_000)
_CELSIUS = (-50, 250)
_COUNT = (0, 2**48)
_WORDS_OF_32_BITS = (0, 2**32 - 2)

BOUNDS: dict[str, tuple[float, float]] = {
    "memory_total_bytes": (1, 2**50),
    "memory_used_bytes": _BYTES,
    "memory_free_bytes": _BYTES,
    "memory_reserved_bytes": _BYTES,
    "bar1_memory_total_bytes": _BYTES,
    "bar1_memory_used_bytes": _BYTES,
    "utilization_percent": _PERCENT,
    "memory_controller_utilization_percent": _PERCENT,
    "encoder_utilization_percent": _PERCENT,
    "decoder_utilization_percent": _PERCENT,
    "jpeg_utilization_percent": _PERCENT,
    "ofa_utilization_percent": _PERCENT,
    "temperature_celsius": _CELSIUS,
    "memory_temperature_celsius": (1, 250),  # boards without the sensor say 0
    "thermal_margin_celsius": (-250, 250),
    "thermal_margin_threshold_celsius": (-250, 250),
    "temperature_threshold_celsius": _CELSIUS,
    "fan_speed_percent": (0, 200),  # some boards run their fans above what is called full
    "power_draw_watts": _WATTS,
    "power_average_watts": _WATTS,
    "power_limit_watts": (1, 100_000),
    "power_limit_range_watts": _WATTS,
    "energy_joules_total": (0, 2**53),
    "clock_hertz": (0, 20e9),
    "clock_max_hertz": (1, 20e9),
    "performance_state": (0, 15),
    "throttle_seconds_total": (0, 2**34),
    "activity_ratio": (0, 1.02),
    "pcie_profile_bytes_per_second": (0, 2**43),
    "nvlink_profile_bytes_per_second": (0, 2**43),
    "ecc_errors_total": _COUNT,
    "ecc_location_errors_total": _COUNT,
    "sram_ecc_errors_total": _COUNT,
    "sram_ecc_sources_total": _COUNT,
    "fabric_clique": _WORDS_OF_32_BITS,
    "remapped_rows_total": _WORDS_OF_32_BITS,
    "row_remap_banks": _WORDS_OF_32_BITS,
    "retired_pages_total": _WORDS_OF_32_BITS,
    "pcie_link_generation": (1, 15),
    "pcie_link_generation_max": (1, 15),
    "pcie_link_width": (1, 64),
    "pcie_link_width_max": (1, 64),
    "pcie_replays_total": _WORDS_OF_32_BITS,
    "pcie_receive_bytes_per_second": (0, 2**39),
    "pcie_transmit_bytes_per_second": (0, 2**39),
    "nvlink_errors_total": _COUNT,
    "nvlink_link_errors_total": _COUNT,
    "nvlink_receive_bytes_total": (0, 2**62),
    "nvlink_transmit_bytes_total": (0, 2**62),
    "numa_node": (0, 2**16),
    "minor_number": (0, 2**16),
    "used_memory_bytes": _BYTES,
    "sm_utilization_percent": _PERCENT,
}
"""Lowest and highest plausible value by field; all-ones of any width are beyond them."""

ALL_ONES = {2**32 - 1, 2**64 - 1}
"""What a driver says for "not available" in numbers that may be as large as that."""

SENTINELS = {"temperature_celsius": -1}
"""All-ones that became a plausible number on the way: -1 where a call is signed."""
