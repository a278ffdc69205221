"""What goes wrong on the simulated node, and when; it all clears, and begins again."""

from exporter.record import dataclass

CYCLE_SECS = 1800

OVERHEATING = "overheating"
ECC_BURST = "ecc_burst"
FELL_OFF = "fell_off_the_bus"
LINK_ERRORS = "link_errors"
SLOW_DISK = "slow_disk"
SLOW_DISK_NAME = "nvme1n1"

RESET_SECS = 20
"""How long a GPU rests for the reset that repairs it."""

BURST_SECS = 60
"""How long errors are corrected before one cannot be."""


@dataclass(frozen=True, slots=True)
class DemoIncident:
    """One thing that goes wrong, in seconds of the cycle; `gpu` counts round the GPUs there are."""

    name: str
    starts: int
    ends: int
    title: str
    gpu: int = 0

    def titled(self, gpus: int) -> str:
        """Say what goes wrong on a node with so many GPUs."""
        return self.title.format(gpu=self.gpu % gpus)


INCIDENTS = (
    DemoIncident(OVERHEATING, 60, 330, "GPU {gpu} overheats and is throttled", gpu=2),
    DemoIncident(
        ECC_BURST, 420, 750, "GPU {gpu} has an uncorrectable memory error and needs a reset", gpu=1
    ),
    DemoIncident(FELL_OFF, 840, 1020, "GPU {gpu} falls off the bus", gpu=5),
    DemoIncident(LINK_ERRORS, 1110, 1320, "NVLink errors on GPU {gpu}, a link goes down", gpu=3),
    DemoIncident(SLOW_DISK, 1410, 1620, "a training job waits for a disk that does not answer"),
)


@dataclass(frozen=True, slots=True)
class Now:
    """One second of the simulation: how long each active incident has lasted, in seconds."""

    secs: int
    lasting: tuple[tuple[DemoIncident, int], ...]

    def of_gpu(self, name: str, index: int) -> int | None:
        """Seconds since this incident began on this GPU; None while it has not."""
        for incident, lasted in self.lasting:
            if incident.name == name and incident.gpu == index:
                return lasted
        return None

    def of_node(self, name: str) -> int | None:
        """Seconds since this incident began on the node; None while it has not."""
        return next((lasted for found, lasted in self.lasting if found.name == name), None)


FIRST_SECS = 834
"""Where a demo begins unless told otherwise: six seconds later a GPU falls off the bus."""


def at(secs: int, incidents: tuple[DemoIncident, ...] = INCIDENTS) -> Now:
    """Return what is wrong at this second since the start."""
    moment = secs % CYCLE_SECS
    lasting = ((it, moment - it.starts) for it in incidents if it.starts <= moment < it.ends)
    return Now(secs, tuple(lasting))


def coming(start: int) -> list[tuple[int, DemoIncident]]:
    """List the incidents of one cycle in their order, each with the seconds until it begins."""
    waits = (((it.starts - start) % CYCLE_SECS, it) for it in INCIDENTS)
    return sorted(waits, key=lambda pair: pair[0])
