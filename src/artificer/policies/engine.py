"""The Cedar engine, if it is installed, without importing it early."""

from __future__ import annotations

from importlib.util import find_spec

from artificer.core.policy import Consult, Decision, Policy, PolicyQuery, PolicyText
from artificer.errors import MissingExtraError


def consult_here(policy: Policy | None = None) -> Consult | None:
    """Return the function that evaluates Cedar policies, or None without the extra ``cedar``.

    Raises:
        MissingExtraError: the extra is missing, and ``policy`` has Cedar policies.
    """
    if find_spec("cedarpy") is not None:
        return _consult
    if policy is not None and policy.cedar:
        raise MissingExtraError("cedar", needed_for="This run's policy")
    return None


def _consult(texts: tuple[PolicyText, ...], query: PolicyQuery) -> Decision:
    from artificer.policies.cedar import consult  # only if there are policies

    return consult(texts, query)
