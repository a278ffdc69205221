"""Eight cards behind fakes of the library and of the program, and the real program beside them."""

from pathlib import Path
from typing import Any

from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.program import Program

CAPTURE = "h100x8.scenario"


class GpuNode:
    """A node that is well until it is told otherwise."""

    def __init__(self, folder: Path, nvml: NvmlLibrary, smi: NvidiaSmi) -> None:
        self.folder = folder
        self.nvml = nvml
        self.smi = smi
        self.marker = folder / "driver"
        self.marker.touch()
        self.sections: dict[str, dict[str, Any]] = {}
        nvml.say(capture=CAPTURE)
        smi.say(capture=CAPTURE)

    def start(self, interval_secs: float = 0.2, **gpu: Any) -> Program:
        """The program; `gpu` are keys of that section, `sections` are others."""
        settings = {
            "driver_markers": [str(self.marker)],
            "smi_paths": [str(self.smi.path)],
            "redetect_secs": 0.2,
            **gpu,
        }
        metrics = {"collect_interval_secs": interval_secs}
        changes = {"metrics": metrics, "gpu": settings, **self.sections}
        return Program(self.folder / "run", changes, environment=self.nvml.environment)

    def wedge(self) -> None:
        """Neither the library nor the program answers any more; the program ignores SIGTERM."""
        self.nvml.say("any = hang", capture=CAPTURE)
        self.smi.say("smi.1 = ignore 15", "smi.2 = hang", capture=CAPTURE)
