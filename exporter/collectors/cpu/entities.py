"""CPUs as components of rules."""

from exporter.collectors.cpu.values import Cpu
from exporter.faults.entities.kind import Kind, known_by_events

CPU = Kind("cpu", "cpu", {}, known_by_events, Cpu)
