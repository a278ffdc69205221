"""Repairs of GPUs and NVLinks, derived by comparing two readings, or told by the driver's log."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import field

from exporter.collectors.gpu.values import Gpu, Gpus, GpuState
from exporter.collectors.pcie.address import pci_address
from exporter.faults.events.changes import remember
from exporter.faults.events.store import ENDED
from exporter.faults.subject import Repair
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass

NO_DRIVER = frozenset({"no_driver", "driver_not_loaded"})

OF_NUMBERED = {"gpu_locked": "locked_gpu_reset", "gpu_gsp_silent": "silent_gpu_reset"}
"""By kind of a kernel line that names a GPU by a number or not at all, its repair."""


TRAINED_SECS = 60.0
"""A link that has been up for so long is trained."""

SWITCH_SECS = 60.0
"""A link that goes down this long before or after a fatal error of a switch is its link."""


@dataclass(slots=True)
class GpuRepairs:
    """Remembers the last look at each GPU and NVLink."""

    _gpus: dict[str, Gpu] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)  # GPUs that wanted a reset
    _asked_for: set[str] = field(default_factory=set)  # those of which the log said so (Xid 154)
    _unread: set[str] = field(default_factory=set)  # GPUs that the last look did not read
    _down: dict[str, tuple[float, float | None]] = field(default_factory=dict)
    """When each NVLink was first seen down, and then up; None while it is down."""
    _switch_failed: float = -math.inf  # when a switch last reported a fatal error
    _numbered: dict[str, set[str]] = field(
        default_factory=lambda: {it: set() for it in OF_NUMBERED}
    )

    def between(self, snapshot: Snapshot, events: Iterable[Event]) -> Iterable[Repair]:
        """Yield resets of GPUs, and links that are up again."""
        gpus = snapshot.reading(Gpus)
        compared = list(self._resets(gpus))
        logged = list(self._logged(events))
        self._forget(compared)
        yield from (("gpu_reset", "gpu", gpu) for gpu in (*compared, *logged))
        if compared or logged:  # what does not name its GPU ends with the reset of any
            yield "some_gpu_reset", "node", ""
            for kind, named in self._numbered.items():
                if not named:
                    yield OF_NUMBERED[kind], "node", ""
        waiting = self._links_of_switch()
        yield from (("link_up", "nvlink", link) for link in self._trained(snapshot))
        if waiting and waiting.isdisjoint(self._down):
            yield "switch_links_up", "node", ""

    def _links_of_switch(self) -> set[str]:
        """Find the links that went down with the last fatal error of a switch and are not up."""
        failed = self._switch_failed
        return {it for it, (since, _) in self._down.items() if abs(since - failed) <= SWITCH_SECS}

    def _logged(self, events: Iterable[Event]) -> Iterator[str]:
        """Find GPUs that want no recovery action any more (Xid 154); note which have a number."""
        for event in events:
            number = event.fields.get("index")
            if event.kind in OF_NUMBERED and number is not None:
                self._numbered[event.kind].add(number)
            elif event.kind == "driver_loaded":
                self._numbered = {it: set() for it in OF_NUMBERED}
            elif event.kind == "gpu_recovery_action" and event.fields.get(ENDED) == "yes":
                self._asked_for.discard(event.entity_id)
                self._forget([event.entity_id])
                yield event.entity_id
            elif event.kind == "sxid" and event.fields.get("fatal") == "yes":
                self._switch_failed = event.boottime
            elif event.kind == "gpu_recovery_action":
                self._asked_for.add(event.entity_id)

    def _forget(self, resets: Iterable[str]) -> None:
        """Forget the numbers of GPUs that were reset, and all when it is unknown which were.

        The driver counts GPUs as it attaches them, which is the order of their minor numbers.
        """
        for gpu in resets:
            known = self._gpus.get(gpu) or next(
                (it for it in self._gpus.values() if pci_address(it.pci_bus_id) == gpu), None
            )
            for named in self._numbered.values():
                if known is None:
                    named.clear()
                else:
                    minor = known.minor_number
                    named.discard(str(known.index if minor is None else minor))

    def _resets(self, gpus: Gpus | None) -> Iterator[str]:
        """Find GPUs whose driver or firmware started anew: their volatile counters fell."""
        if gpus is None:
            return
        if gpus.backend.reason in NO_DRIVER:
            self._refused.update(u for u, gpu in self._gpus.items() if gpu.vendor == "nvidia")
        for state in gpus.states:
            uuid = state.gpu.uuid
            if state.reason == "reset_required" or (not state.up and self._was_asked_for(state)):
                self._refused.add(uuid)
            if not state.up or not state.is_fresh:
                self._unread.add(uuid)
                continue
            self._ask(state)
            before = self._gpus.get(uuid)
            if uuid in self._refused or (before and _has_started_anew(before, state.gpu)):
                yield uuid
            self._refused.discard(uuid)
            remember(self._gpus, uuid, state.gpu)

    def _ask(self, state: GpuState) -> None:
        """Ask a GPU that answers whether it wants a reset still."""
        action, uuid = state.gpu.recovery_action, state.gpu.uuid
        if action not in (None, "none"):
            self._refused.discard(uuid)  # it answers again without the reset
        elif action and uuid in self._unread and self._was_asked_for(state):
            self._refused.add(uuid)
        self._unread.discard(uuid)

    def _was_asked_for(self, state: GpuState) -> bool:
        """Tell whether the log asked for a recovery action of this GPU, and forget that it did."""
        names = {state.gpu.uuid, pci_address(state.gpu.pci_bus_id)} & self._asked_for
        self._asked_for -= names
        return bool(names)

    def _trained(self, snapshot: Snapshot) -> Iterator[str]:
        """Find NVLinks that were down and are up for a minute.

        A link counts its recovery when it is up: then the fault goes on that explains it. What was
        not read in between is as it was. The time is read only where a link went down or is up
        again: of a snapshot whose time is not read, nothing is compared until a reading is another.
        """
        gpus = snapshot.reading(Gpus)
        for state in gpus.states if gpus else ():
            pci = pci_address(state.gpu.pci_bus_id)
            if not state.is_fresh or not pci:
                continue
            for label, is_up in state.gpu.nvlink_up or ():
                link = f"{pci}/{label}"
                known = self._down.get(link)
                if not is_up:
                    since = snapshot.taken_boottime if known is None else known[0]
                    remember(self._down, link, (since, None))
                elif known is not None:
                    since, up_since = known
                    now = snapshot.taken_boottime
                    if up_since is None:
                        self._down[link] = (since, now)
                    elif now - up_since >= TRAINED_SECS:
                        del self._down[link]
                        yield link


def _has_started_anew(before: Gpu, now: Gpu) -> bool:
    """Whether what only a reset or a driver load takes back was taken back."""
    if before.recovery_action not in (None, "none") and now.recovery_action == "none":
        return True
    energy, energy_before = now.energy_joules_total, before.energy_joules_total
    if energy is not None and energy_before is not None and energy < energy_before / 2:
        return True
    return _volatile_errors(now) < _volatile_errors(before)


def _volatile_errors(gpu: Gpu) -> float:
    rows = gpu.ecc_errors_total or ()
    return sum(count for _, counter, count in rows if counter == "volatile")
