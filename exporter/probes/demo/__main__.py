"""`python -m exporter.probes.demo`."""

from exporter.probes.demo.serving import main

if __name__ == "__main__":
    main()
