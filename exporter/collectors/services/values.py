"""Services of systemd, and how many units failed."""

from exporter.exposition.rows import metric
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Service:
    """One service that is installed; None where systemd does not say.

    `active_state`, `sub_state`, `unit_file_state` and `result` are the words of systemd;
    `condition_met` is False where a condition of the unit keeps it from starting on this node.
    `result`, `condition_met` and `type` (of systemd, such as oneshot) are None in the state active:
    systemd is not asked for them.
    """

    service: str  # without .service
    active_state: str
    sub_state: str
    unit_file_state: str | None = None
    result: str | None = None
    condition_met: bool | None = None
    state_change_timestamp_seconds: float | None = metric(
        "Time at which the service was started, stopped or failed last.", never_bad="it is a time"
    )
    restarts_total: int | None = metric(
        "Restarts by systemd since the service was last started manually or at boot."
    )
    type: str | None = None

    @property
    def active(self) -> bool:
        """Whether the service runs."""
        return self.active_state in ("active", "reloading", "refreshing")

    @property
    def starting(self) -> bool:
        """Whether systemd starts the service now, for the first time after it did not run."""
        return self.active_state == "activating" and not self.sub_state.startswith("auto-restart")

    @property
    def done(self) -> bool:
        """Whether the service does its work once, and does not fail: oneshot."""
        return self.type == "oneshot" and self.active_state == "inactive"

    @property
    def enabled(self) -> bool | None:
        """Whether systemd starts the service by itself; None where that is not known."""
        state = self.unit_file_state
        return None if state is None else state.startswith("enabled")

    @property
    def standing(self) -> str:
        """Return the state in words: failed (exit-code), activating (auto-restart)."""
        has_result = self.active_state == "failed" and self.result not in (None, "success")
        return f"{self.active_state} ({self.result if has_result else self.sub_state})"


@dataclass(frozen=True, slots=True)
class Services:
    """The services that are installed, and the units that failed.

    `failed_names` names the first few; `has_nvswitches` tells whether the driver of NVSwitches
    has any on this node.
    """

    services: tuple[Service, ...]
    failed_units: int | None = metric(
        "Units of systemd in the state failed, of all kinds.",
        never_bad="the fault units_failed (info) names them; few of them matter to hardware",
    )
    failed_names: str | None = None
    has_nvswitches: bool = False
