"""`python -m exporter` is the command `hw-exporter`."""

from exporter.cli import main

main()
