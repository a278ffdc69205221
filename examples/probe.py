#!/usr/bin/env python3
"""A probe: prints the entropy of the kernel as a metric, every ten seconds."""

import json
import sys
import time
from pathlib import Path

ENTROPY = Path("/proc/sys/kernel/random/entropy_avail")

while True:
    metric = {
        "metric": "hw_entropy_available",
        "type": "gauge",
        "help": "Bits of entropy that the kernel has.",
        "value": int(ENTROPY.read_text("ascii")),
    }
    sys.stdout.write(f"{json.dumps(metric)}\n")
    sys.stdout.flush()
    time.sleep(10)
