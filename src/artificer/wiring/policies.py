"""Checking a policy against the tools it covers, before a run starts."""

from __future__ import annotations

from collections.abc import Iterator

from artificer.backends.artifact import offered
from artificer.backends.host.spec.tools import definitions
from artificer.contracts.capabilities import Host
from artificer.contracts.definition import BACKENDS, Toolset, toolset
from artificer.core.lint import RuleFault, rule_faults
from artificer.core.policy import Policy
from artificer.errors import ConfigError
from artificer.plugins import load


def policy_faults(policy: Policy, toolset: Toolset) -> Iterator[str]:
    """Everything in a policy that can never match a call of these tools, a line each."""
    for fault in rule_faults(policy, toolset, _installed(policy)):
        yield _message(policy, fault)
    if policy.cedar:
        from artificer.policies.cedar_lint import entity_faults  # only where there are any

        yield from entity_faults(policy.cedar, toolset)


def require_fitting(policy: Policy, toolset: Toolset) -> None:
    """Raise ConfigError for a rule that is meant for one of these tools and can never match.

    A rule for tools that this run does not offer is not a fault: a policy may be shared.
    """
    faults = rule_faults(policy, toolset, _installed(policy))
    found = [_message(policy, fault) for fault in faults if fault.fatal]
    if found:
        raise ConfigError(
            "The policy has rules that can never match: " + "; ".join(found) + ".",
            hint="Correct them, and try again: artificer policy check",
        )


def tools_of_builds() -> Toolset:
    """The tools of a build's runs, but for the commands that its project declares."""
    return toolset((*definitions(Host(folder="/", write=True)), *offered.tools()))


def _installed(policy: Policy) -> tuple[str, ...]:
    """The backends of installed packages, if a rule names one that is not built in."""
    named = {rule.origin.partition(":")[0] for rule in policy.rules}
    if named <= {*BACKENDS, "*"}:
        return ()
    names: tuple[str, ...] = load("artificer.manifests.registry:BACKENDS").names
    return names


def _message(policy: Policy, fault: RuleFault) -> str:
    rule = policy.rules[fault.number - 1]
    name = f" ({rule.name})" if rule.name else ""
    return f"rule {fault.number}{name}: {fault.message}"
