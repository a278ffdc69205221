"""Software RAID."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MdArray:
    """One array of the md driver."""

    device: str
    state: str  # active, inactive
    level: str | None = None  # raid1, raid5, …
    active_disks: int = 0
    failed_disks: int = 0
    spare_disks: int = 0
    missing_disks: int | None = None  # absent for levels that can miss none
    resync_ratio: float | None = None  # how far a rebuild has come, 0 to 1


@dataclass(frozen=True, slots=True)
class MdArrays:
    """The arrays, ordered by name."""

    arrays: tuple[MdArray, ...]
