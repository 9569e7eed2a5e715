"""The limits that all processes of a world share, as its settings say."""

from __future__ import annotations

from artificer.config import Config, SharedLimits, WorkerConfig
from artificer.ports import SharedLimit


def request_limits(config: Config) -> dict[str, tuple[SharedLimit, ...]]:
    """Return the limits of requests to each provider or ``provider/model`` that has any."""
    return {name: _limits(f"requests.{name}", found) for name, found in config.requests.items()}


def lane_limits(config: WorkerConfig) -> dict[str, tuple[SharedLimit, ...]]:
    """Return the limits of each lane that has any."""
    return {
        lane: _limits(
            f"lanes.{lane}", SharedLimits(at_once=found) if isinstance(found, int) else found
        )
        for lane, found in config.lanes.items()
    }


def _limits(name: str, config: SharedLimits) -> tuple[SharedLimit, ...]:
    limits = []
    if config.at_once is not None:
        limits.append(SharedLimit(f"{name}.at_once", config.at_once))
    if config.per_minute is not None:
        limits.append(SharedLimit(f"{name}.per_minute", config.per_minute, 60.0))
    return tuple(limits)
