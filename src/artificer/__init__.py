"""Artificer: a language model acts and delivers only through typed tool calls.

Every call is checked before it runs, recorded before it acts, and replayable afterwards.

This is the one door: the names in ``__all__`` are public, and so are those of ``artificer.types``
(the types in their signatures), ``artificer.extend`` and ``artificer.ports`` (for packages that add
something) and ``artificer.testing``; everything else may change. Names are
imported when they are first used, so ``import artificer`` costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from artificer.values.release import RELEASE

if TYPE_CHECKING:
    from artificer.agent import Agent
    from artificer.artifacts.deliverable import Deliverable
    from artificer.artifacts.ref import ArtifactRef, Finding
    from artificer.backends.function.decorator import tool
    from artificer.builds.brief import Brief
    from artificer.builds.facts import BuildOptions
    from artificer.config import Config, load_config
    from artificer.contracts.capabilities import Capabilities, Grant, Host
    from artificer.contracts.definition import ToolDefinition
    from artificer.contracts.model_settings import ModelSettings
    from artificer.contracts.response_format import ResponseFormat
    from artificer.core.conditions import Condition
    from artificer.core.policy import Policy, Rule
    from artificer.core.signals import (
        AnswerCall,
        Cancel,
        Consent,
        Decide,
        FollowUp,
        Interrupt,
        Pause,
        Resolve,
        Retry,
        Revise,
        Steer,
        Tick,
    )
    from artificer.core.spec import Limits
    from artificer.errors import (
        ArtificerError,
        AuthorError,
        BugError,
        ModelError,
        OperatorError,
    )
    from artificer.ports import (
        Answer,
        Approver,
        Audio,
        BlobStore,
        Call,
        Clock,
        Executor,
        File,
        Image,
        Journal,
        Provider,
        Question,
        Receipt,
        RunContext,
        Storage,
    )
    from artificer.providers.scripted import ScriptedProvider
    from artificer.runs import Run
    from artificer.runtime.builds.builder import Decider
    from artificer.runtime.fork import ForkChanges
    from artificer.runtime.proving.replay import Replay
    from artificer.runtime.watching.observe import Observer
    from artificer.runtime.watching.stream import RunStream
    from artificer.shortest import rerun, resume, run
    from artificer.values.model import ToolChoice, Usage
    from artificer.web import lifespan
    from artificer.world import World

__version__ = RELEASE

_HOMES = {
    "Agent": "agent",
    "Audio": "ports.attachment",
    "File": "ports.attachment",
    "Image": "ports.attachment",
    "Brief": "builds.brief",
    "ForkChanges": "runtime.fork",
    "ModelSettings": "contracts.model_settings",
    "Answer": "ports",
    "AnswerCall": "core.signals",
    "Approver": "ports",
    "ArtifactRef": "artifacts.ref",
    "ArtificerError": "errors",
    "AuthorError": "errors",
    "BlobStore": "ports",
    "BuildOptions": "builds.facts",
    "BugError": "errors",
    "Call": "ports",
    "Cancel": "core.signals",
    "Capabilities": "contracts.capabilities",
    "Clock": "ports",
    "Condition": "core.conditions",
    "Config": "config",
    "Consent": "core.signals",
    "Decide": "core.signals",
    "Decider": "runtime.builds.builder",
    "Deliverable": "artifacts.deliverable",
    "Executor": "ports",
    "Finding": "artifacts.ref",
    "Grant": "contracts.capabilities",
    "FollowUp": "core.signals",
    "Interrupt": "core.signals",
    "Host": "contracts.capabilities",
    "Journal": "ports",
    "Limits": "core.spec",
    "ModelError": "errors",
    "Observer": "runtime.watching.observe",
    "OperatorError": "errors",
    "Pause": "core.signals",
    "Policy": "core.policy",
    "Provider": "ports",
    "Question": "ports",
    "Receipt": "ports",
    "Replay": "runtime.proving.replay",
    "Resolve": "core.signals",
    "ResponseFormat": "contracts.response_format",
    "Retry": "core.signals",
    "Revise": "core.signals",
    "Rule": "core.policy",
    "Run": "runs",
    "RunContext": "ports",
    "RunStream": "runtime.watching.stream",
    "ScriptedProvider": "providers.scripted",
    "Steer": "core.signals",
    "Storage": "ports",
    "Tick": "core.signals",
    "ToolChoice": "values.model",
    "ToolDefinition": "contracts.definition",
    "Usage": "values.model",
    "World": "world",
    "lifespan": "web",
    "load_config": "config",
    "rerun": "shortest",
    "resume": "shortest",
    "run": "shortest",
    "tool": "backends.function.decorator",
}

__all__ = [
    # the way in
    "run",
    "resume",
    "rerun",
    "tool",
    "Agent",
    "World",
    "Run",
    "RunStream",
    "lifespan",
    "RunContext",
    # what a prompt and a tool's result may hold
    "Image",
    "Audio",
    "File",
    # the parts of an agent
    "ModelSettings",
    "Policy",
    "Rule",
    "Limits",
    "Capabilities",
    "Grant",
    "Host",
    "ResponseFormat",
    "ToolChoice",
    "ToolDefinition",
    "Condition",
    # builds, forks, settings
    "BuildOptions",
    "Brief",
    "ForkChanges",
    "Config",
    "load_config",
    # signals
    "AnswerCall",
    "Steer",
    "Tick",
    "FollowUp",
    "Pause",
    "Interrupt",
    "Cancel",
    "Resolve",
    "Consent",
    "Decide",
    "Revise",
    "Retry",
    # results
    "Deliverable",
    "ArtifactRef",
    "Finding",
    "Replay",
    "Usage",
    # the seams
    "Provider",
    "ScriptedProvider",
    "Executor",
    "Call",
    "Receipt",
    "Journal",
    "BlobStore",
    "Storage",
    "Approver",
    "Decider",
    "Question",
    "Answer",
    "Clock",
    "Observer",
    # errors
    "ArtificerError",
    "AuthorError",
    "OperatorError",
    "ModelError",
    "BugError",
]


if not TYPE_CHECKING:  # or a type checker would find any name here

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'artificer' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"artificer.{home}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted([*__all__, "__version__"])
