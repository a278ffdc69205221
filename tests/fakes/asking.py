"""Asks a fake library through pynvml, in a process of its own."""

import json
import os
import subprocess
import sys
from typing import Any

from tests.fakes.nvml_library import NvmlLibrary

SCRIPT = """
import ctypes, json, os, sys
from pynvml import *
def card(index=0):
    return nvmlDeviceGetHandleByIndex(index)
def mig(index=0):
    return nvmlDeviceGetMigDeviceHandleByIndex(card(), index)
def field(id, scope=0):
    value = nvmlDeviceGetFieldValues(card(), [(id, scope)])[0]
    types = {NVML_VALUE_TYPE_UNSIGNED_INT: "uiVal", NVML_VALUE_TYPE_SIGNED_INT: "siVal"}
    if value.nvmlReturn:
        raise NVMLError(value.nvmlReturn)
    return getattr(value.value, types.get(value.valueType, "ullVal"))
def filled(struct, version, function):
    struct.version = version
    function(card(), ctypes.byref(struct))
    return struct
def measured(samples, ids):
    wanted = c_nvmlGpmMetricsGet_t(version=1, numMetrics=len(ids))
    wanted.sample1, wanted.sample2 = samples
    for metric, wanted_id in zip(wanted.metrics, ids):
        metric.metricId = wanted_id
    return nvmlGpmMetricsGet(wanted)
def say(*lines):
    path = os.environ["FAKE_NVML_SCENARIO"]
    with open(path + ".new", "w") as file:
        file.write("\\n".join(lines))
    os.replace(path + ".new", path)
def asked(expression):
    try:
        answer = eval(expression)
    except NVMLError as error:
        return f"error {error.value}"
    return answer.decode() if isinstance(answer, bytes) else answer
nvmlInit()
print(json.dumps([asked(expression) for expression in sys.argv[1:]]))
"""


def ask(nvml: NvmlLibrary, *expressions: str) -> list[Any]:
    """What pynvml answers, asked in order after nvmlInit; an NVMLError becomes `error CODE`.

    `card(i)` and `mig(i)` are handles, `field(id, scope)` a field value, `say(...)` a new scenario.
    """
    done = run(nvml, *expressions)
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def run(nvml: NvmlLibrary, *expressions: str) -> "subprocess.CompletedProcess[str]":
    """The process itself, for cases in which it dies."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *expressions],
        env={**os.environ, **nvml.environment},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
