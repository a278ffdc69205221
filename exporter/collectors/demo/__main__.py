"""`python -m exporter.collectors.demo`."""

from exporter.collectors.demo.serving import main

if __name__ == "__main__":
    main()
