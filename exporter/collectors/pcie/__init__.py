"""PCIe devices, their links and errors."""
