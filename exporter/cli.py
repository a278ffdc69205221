"""The command line: arguments and environment in, exit code out."""

import errno
import importlib
import io
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from exporter.blocking import NO_THREAD, is_thread_limit
from exporter.commands.arguments import build_parser
from exporter.commands.invocation import CommandError, Invocation
from exporter.config.file import INSTALLED_FILE, ConfigError
from exporter.exit_codes import EXIT_CONFIG, EXIT_FAILED, EXIT_OK, EXIT_UNKNOWN

EXIT_PIPE = 128 + signal.SIGPIPE
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and end the process with its exit code."""
    _open_standard_streams()
    try:
        code = run_command(sys.argv[1:] if arguments is None else arguments, os.environ)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has gone: `… rules list | head`
        code = EXIT_PIPE
    except OSError as error:
        if error.errno not in NO_ROOM or error.filename is not None:
            raise
        print(f"hw-exporter: the output cannot be written: {error.strerror}", file=sys.stderr)
        code = EXIT_UNKNOWN
    # Not sys.exit: threads that hang in a dead filesystem must not keep the process.
    os._exit(code)


def _open_standard_streams() -> None:
    """Open closed descriptors 0 to 2 on /dev/null: no socket may take their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 - standard error
        pass
    os.close(descriptor)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal of few characters is no error
            stream.reconfigure(errors="replace")


def run_command(
    arguments: Sequence[str], environment: Mapping[str, str], installed: Path = INSTALLED_FILE
) -> int:
    """Run the command and return its exit code: 0 well, 1 failed, 2 wrong use or configuration.

    The exit codes of `faults` are a verdict.
    """
    try:
        options = build_parser().parse_args(arguments)
    except SystemExit as ended:
        return _of_mistake(arguments) if ended.code else EXIT_OK
    module, _, function = options.handler.partition(":")
    handler = getattr(importlib.import_module(f"exporter.commands.{module}"), function)
    try:
        return int(handler(Invocation(options, environment, installed)))
    except ConfigError as error:
        for sentence in error.sentences:
            print(f"hw-exporter: {sentence}", file=sys.stderr)
        return _of_mistake(arguments)
    except CommandError as error:
        print(f"hw-exporter: {error}", file=sys.stderr)
        return error.code
    except RuntimeError as error:
        if not is_thread_limit(error):
            raise
        print(f"hw-exporter: {NO_THREAD}", file=sys.stderr)
        return EXIT_FAILED


def _of_mistake(arguments: Sequence[str]) -> int:
    """Return the exit code of a wrong use or configuration; 2 of `faults` is a critical fault."""
    is_verdict = "faults" in arguments and "--npd" not in arguments
    return EXIT_UNKNOWN if is_verdict else EXIT_CONFIG
