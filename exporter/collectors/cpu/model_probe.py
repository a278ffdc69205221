"""The processor's name as py-cpuinfo finds it, printed as one JSON line; takes about a second.

Runs once as its own process, so that neither the start nor the memory of the exporter pays for it.
"""

import os
import sys

import cpuinfo

from exporter.model.label import clean_text
from exporter.probes.protocol import encode_line


def main() -> None:
    """Print `{"cpu_model": …}`, null where py-cpuinfo does not know either."""
    os.nice(19)
    brand = cpuinfo.get_cpu_info().get("brand_raw")
    model = clean_text(brand) if isinstance(brand, str) else None
    sys.stdout.buffer.write(encode_line({"cpu_model": model or None}))


if __name__ == "__main__":
    main()
