"""Answers each request with one pass over all GPUs, one JSON line each."""

import os
import sys
from typing import Any, BinaryIO

import pynvml

from exporter.model.label import clean_text
from exporter.probes.nvml.gpus import AllGpus
from exporter.probes.nvml.library import Library, reason_of
from exporter.probes.protocol import BadLine, decode_line, encode_line


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer each request line with one line, until the input ends."""
    gpus = AllGpus(Library())
    for line in requests:
        try:
            request = decode_line(line)
        except BadLine:
            continue  # not from our supervisor; there is no id to answer to
        answer: dict[str, Any] = {"id": request.get("id")}
        try:
            answer.update(gpus.read())
        except pynvml.NVMLError as error:
            answer["error"] = reason_of(error)
            answer["message"] = clean_text(str(error))
            gpus = AllGpus(Library())
        answers.write(encode_line(answer))
        answers.flush()


def main() -> None:
    """Speak over a private copy of standard output: the library may print to it, or close it."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        serve(sys.stdin.buffer, answers)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)  # whoever asked is gone
