"""Loading ``[policy]`` of ``artificer.toml`` as the policy of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from artificer.core.kinds import RunKind
from artificer.core.policy import DecisionWord, Policy, PolicyText, Rule
from artificer.errors import ConfigError, MissingExtraError
from artificer.system.regular_file import read_regular
from artificer.values.base import CheckedValue
from artificer.values.nearest import nearest

MAX_TEXT_BYTES = 256 * 1024
"""Size of one file of Cedar policies."""


class PolicyKeys(CheckedValue):
    """``[policy]``: ``default``, ``[[policy.rules]]``, ``allow`` (globs of tools) and ``cedar``.

    ``cedar`` names files of policies, or globs of files, relative to ``artificer.toml``.
    """

    default: DecisionWord = "allow"
    rules: tuple[Rule, ...] = ()
    allow: tuple[str, ...] | None = None
    cedar: tuple[str, ...] = ()


def to_policy(keys: PolicyKeys, settings: Path) -> Policy:
    """Return the policy of a ``[policy]`` section in the file ``settings``.

    Raises:
        ConfigError: a rule names an unknown kind of run, two rules have the same name, or
            Cedar policies cannot be read.
        MissingExtraError: there are Cedar policies, and ``cedarpy`` is not installed.
    """
    for number, rule in enumerate(keys.rules, 1):
        _check_kinds(rule, f"{settings}: policy.rules #{number}")
    twice = [n for n, count in Counter(r.name for r in keys.rules if r.name).items() if count > 1]
    if twice:
        raise ConfigError(
            f"{settings}: policy.rules: two rules have the name {twice[0]!r}.",
            hint="Give each rule its own name.",
        )
    folder = settings.parent
    return Policy(
        rules=tuple(_placed(rule, folder) for rule in keys.rules),
        default=keys.default,
        allow_lists=() if keys.allow is None else (keys.allow,),
        cedar=tuple(_texts(keys.cedar, folder)),
    )


def _check_kinds(rule: Rule, where: str) -> None:
    known = get_args(RunKind)
    for kind in rule.kind:
        if kind not in known:
            problem = f"{where}.kind: unknown kind of run {kind!r}."
            raise ConfigError(problem, hint=nearest(kind, known))


def _placed(rule: Rule, folder: Path) -> Rule:
    """Return the rule with a relative origin, such as ``command:./tools``, made absolute."""
    backend, dot, rest = rule.origin.partition(":./")
    if not dot:
        return rule
    return rule.replace(origin=f"{backend}:{folder.absolute() / rest}")


def _texts(globs: tuple[str, ...], folder: Path) -> Iterator[PolicyText]:
    for glob in globs:
        found = [folder / glob] if (folder / glob).is_file() else sorted(folder.glob(glob))
        if not found:
            raise ConfigError(
                f"No Cedar policy file matches {glob!r} in {folder}.",
                hint="policy.cedar takes files, or globs of files, relative to artificer.toml.",
            )
        for path in found:
            text = _read(path)
            _check(path, text)
            yield PolicyText(name=path.name, text=text)


def _read(path: Path) -> str:
    try:
        data = read_regular(path, MAX_TEXT_BYTES)
        if data is None:
            raise ConfigError(
                f"{path} is larger than {MAX_TEXT_BYTES} bytes.",
                hint="Split it: policy.cedar takes several files.",
            )
        return data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}.",
            hint="Check policy.cedar in artificer.toml, and the file's permissions.",
        ) from error


def _check(path: Path, text: str) -> None:
    try:
        from artificer.policies.cedar import faults  # imports the extra
    except ImportError as error:
        raise MissingExtraError("cedar", needed_for="A Cedar policy") from error
    found = [f"{path}:{fault.line}: {fault.message}" for fault in faults(text)]
    if found:
        raise ConfigError("; ".join(found) + ".")
