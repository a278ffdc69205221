"""CPUs: use, frequency, throttling, machine checks."""
