"""What holds for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# No timing decides whether a test passes: a busy machine is slow, not wrong.
settings.register_profile("artificer", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("artificer")
