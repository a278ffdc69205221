"""The pause before a probe is restarted: doubled each time, up to a limit."""

FIRST_BACKOFF_SECS = 1.0
LONGEST_BACKOFF_SECS = 60.0


class Backoff:
    """The pause before the next start; with `first_secs` 0 the first restart is immediate."""

    def __init__(
        self,
        first_secs: float = FIRST_BACKOFF_SECS,
        longest_secs: float = LONGEST_BACKOFF_SECS,
    ) -> None:
        self._first_secs = first_secs
        self._longest_secs = longest_secs
        self._secs = first_secs

    def reset(self) -> None:
        """Reset the pause after a success."""
        self._secs = self._first_secs

    def next_secs(self) -> float:
        """Return the pause after a failure, and double the next one."""
        pause = self._secs
        self._secs = min(self._longest_secs, max(FIRST_BACKOFF_SECS, 2 * pause))
        return pause
