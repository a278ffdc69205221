"""Disks, filesystems, NVMe controllers and RAID arrays."""
