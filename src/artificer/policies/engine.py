"""Whether Cedar policies can be asked here, found out without importing their engine."""

from __future__ import annotations

from importlib.util import find_spec

from artificer.core.policy import Asked, Consult, Decision, Policy, PolicyText
from artificer.errors import MissingExtraError


def consult_here(policy: Policy | None = None) -> Consult | None:
    """What asks Cedar policies, or None where the extra is not installed.

    Raises:
        MissingExtraError: it is not, and ``policy`` has Cedar policies.
    """
    if find_spec("cedarpy") is not None:
        return _consult
    if policy is not None and policy.cedar:
        raise MissingExtraError("cedar", needed_for="This run's policy")
    return None


def _consult(texts: tuple[PolicyText, ...], asked: Asked) -> Decision:
    from artificer.policies.cedar import consult  # only where there are policies to ask

    return consult(texts, asked)
