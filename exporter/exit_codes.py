"""The exit codes of the program."""

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_CONFIG = 2
EXIT_UNKNOWN = 3
