"""The types in the signatures of the public names: for annotations, and to take values apart.

>>> from artificer.types import EventLine, IntentLine, ToolReturned

What a program makes and calls itself is in :mod:`artificer`. As there, names are imported on use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # "as": a type checker takes the name for public
    from artificer.agent_definition import AgentDefinition as AgentDefinition
    from artificer.agent_definition import AgentFields as AgentFields
    from artificer.agent_definition import AgentKind as AgentKind
    from artificer.agent_definition import AgentTool as AgentTool
    from artificer.agent_definition import ChildOptions as ChildOptions
    from artificer.agent_definition import ExecutedTool as ExecutedTool
    from artificer.agent_definition import InstructionsFunction as InstructionsFunction
    from artificer.agent_definition import Output as Output
    from artificer.agent_definition import OutputValidator as OutputValidator
    from artificer.agent_definition import Tool as Tool
    from artificer.archive import Archive as Archive
    from artificer.artifacts.completion import Completion as Completion
    from artificer.artifacts.handover import Handover as Handover
    from artificer.artifacts.phase import Phase as Phase
    from artificer.artifacts.phase import Task as Task
    from artificer.artifacts.plan import Constant as Constant
    from artificer.artifacts.plan import Plan as Plan
    from artificer.artifacts.plan import SpecRef as SpecRef
    from artificer.artifacts.ref import ArtifactKind as ArtifactKind
    from artificer.artifacts.ref import BuildArtifactKind as BuildArtifactKind
    from artificer.artifacts.ref import DeliverableStatus as DeliverableStatus
    from artificer.artifacts.ref import FindingCode as FindingCode
    from artificer.artifacts.ref import MadeKind as MadeKind
    from artificer.artifacts.revision import Candidate as Candidate
    from artificer.artifacts.spec import PhaseRef as PhaseRef
    from artificer.artifacts.spec import Spec as Spec
    from artificer.artifacts.ticked import ItemState as ItemState
    from artificer.artifacts.ticked import TickedChecklist as TickedChecklist
    from artificer.artifacts.ticks import ItemTick as ItemTick
    from artificer.artifacts.withdraw import Withdrawal as Withdrawal
    from artificer.backends.browser.settings import BrowserConfig as BrowserConfig
    from artificer.backends.function.decorator import FunctionTool as FunctionTool
    from artificer.backends.function.decorator import ToolOptions as ToolOptions
    from artificer.backends.mcp.settings import McpConfig as McpConfig
    from artificer.backends.mcp.settings import McpOAuthConfig as McpOAuthConfig
    from artificer.backends.mcp.settings import McpServerConfig as McpServerConfig
    from artificer.backends.sandbox.settings import SandboxConfig as SandboxConfig
    from artificer.backends.workspace.service import Resolved as Resolved
    from artificer.backends.workspace.service import VersionConflict as VersionConflict
    from artificer.backends.workspace.service import Workspaces as Workspaces
    from artificer.backends.workspace.spec.edits import Applied as Applied
    from artificer.backends.workspace.spec.version import Version as Version
    from artificer.builds.attempts import Attempts as Attempts
    from artificer.builds.facts import BasePrepared as BasePrepared
    from artificer.builds.facts import BaseRefused as BaseRefused
    from artificer.builds.facts import BuildCancelRequested as BuildCancelRequested
    from artificer.builds.facts import BuildRequested as BuildRequested
    from artificer.builds.facts import Checked as Checked
    from artificer.builds.facts import Concern as Concern
    from artificer.builds.facts import ConcernKind as ConcernKind
    from artificer.builds.facts import ConsentGiven as ConsentGiven
    from artificer.builds.facts import Decided as Decided
    from artificer.builds.facts import Fact as Fact
    from artificer.builds.facts import IntegrationRebuilt as IntegrationRebuilt
    from artificer.builds.facts import MergeRefused as MergeRefused
    from artificer.builds.facts import PlanDecision as PlanDecision
    from artificer.builds.facts import RebuildRefused as RebuildRefused
    from artificer.builds.facts import RetryRequested as RetryRequested
    from artificer.builds.facts import RevisionRequested as RevisionRequested
    from artificer.builds.facts import RunRested as RunRested
    from artificer.builds.facts import RunReturned as RunReturned
    from artificer.builds.facts import SpecMerged as SpecMerged
    from artificer.builds.facts import Standing as Standing
    from artificer.builds.jobs import AskConsent as AskConsent
    from artificer.builds.jobs import AskDecision as AskDecision
    from artificer.builds.jobs import CancelRun as CancelRun
    from artificer.builds.jobs import Check as Check
    from artificer.builds.jobs import FinishBuild as FinishBuild
    from artificer.builds.jobs import Job as Job
    from artificer.builds.jobs import MergeSpec as MergeSpec
    from artificer.builds.jobs import PrepareBase as PrepareBase
    from artificer.builds.jobs import RebuildIntegration as RebuildIntegration
    from artificer.builds.jobs import SpecTip as SpecTip
    from artificer.builds.jobs import StartRun as StartRun
    from artificer.builds.jobs import StepId as StepId
    from artificer.builds.state import Archived as Archived
    from artificer.builds.state import BuildState as BuildState
    from artificer.builds.state import Ending as Ending
    from artificer.builds.state import PhaseState as PhaseState
    from artificer.builds.state import SpecState as SpecState
    from artificer.builds.state import SpecStatus as SpecStatus
    from artificer.builds.table import Pass as Pass
    from artificer.builds.table import Size as Size
    from artificer.builds.table import StepKind as StepKind
    from artificer.config import ProviderConfig as ProviderConfig
    from artificer.config import SharedLimits as SharedLimits
    from artificer.config import StudioConfig as StudioConfig
    from artificer.config import TelemetryConfig as TelemetryConfig
    from artificer.config import WorkerConfig as WorkerConfig
    from artificer.contracts.capabilities import Operation as Operation
    from artificer.contracts.definition import CedarKeys as CedarKeys
    from artificer.contracts.definition import EffectClass as EffectClass
    from artificer.contracts.definition import Isolation as Isolation
    from artificer.contracts.definition import ModelRequest as ModelRequest
    from artificer.contracts.definition import Risk as Risk
    from artificer.contracts.definition import Toolset as Toolset
    from artificer.contracts.definition import Trust as Trust
    from artificer.contracts.model_settings import Effort as Effort
    from artificer.contracts.model_settings import ModelKeys as ModelKeys
    from artificer.contracts.model_settings import RequestSettings as RequestSettings
    from artificer.core.attachments import Attached as Attached
    from artificer.core.conditions import Match as Match
    from artificer.core.events import ApprovalAnswered as ApprovalAnswered
    from artificer.core.events import BuildAdvanced as BuildAdvanced
    from artificer.core.events import CallContinued as CallContinued
    from artificer.core.events import CallProbed as CallProbed
    from artificer.core.events import CallsJudged as CallsJudged
    from artificer.core.events import CallWaiting as CallWaiting
    from artificer.core.events import CancelRequested as CancelRequested
    from artificer.core.events import ChecklistTicked as ChecklistTicked
    from artificer.core.events import CompactionFailed as CompactionFailed
    from artificer.core.events import ContextCompacted as ContextCompacted
    from artificer.core.events import DoubtResolved as DoubtResolved
    from artificer.core.events import Event as Event
    from artificer.core.events import FollowUpReceived as FollowUpReceived
    from artificer.core.events import InterruptRequested as InterruptRequested
    from artificer.core.events import ModelFailed as ModelFailed
    from artificer.core.events import ModelResponded as ModelResponded
    from artificer.core.events import Origin as Origin
    from artificer.core.events import PauseRequested as PauseRequested
    from artificer.core.events import PromptReceived as PromptReceived
    from artificer.core.events import ReceiptIgnored as ReceiptIgnored
    from artificer.core.events import ReplyChecked as ReplyChecked
    from artificer.core.events import RunFinished as RunFinished
    from artificer.core.events import RunForked as RunForked
    from artificer.core.events import RunPruned as RunPruned
    from artificer.core.events import RunResumed as RunResumed
    from artificer.core.events import Steered as Steered
    from artificer.core.events import ToolReturned as ToolReturned
    from artificer.core.intents import AdvanceBuild as AdvanceBuild
    from artificer.core.intents import AskApproval as AskApproval
    from artificer.core.intents import CallTool as CallTool
    from artificer.core.intents import CheckReply as CheckReply
    from artificer.core.intents import Compact as Compact
    from artificer.core.intents import Finish as Finish
    from artificer.core.intents import FinishReason as FinishReason
    from artificer.core.intents import Generate as Generate
    from artificer.core.intents import Intent as Intent
    from artificer.core.intents import JudgeCalls as JudgeCalls
    from artificer.core.kinds import RunKind as RunKind
    from artificer.core.outputs import OutputRefs as OutputRefs
    from artificer.core.policy import DecisionWord as DecisionWord
    from artificer.core.policy import Occasion as Occasion
    from artificer.core.policy import PolicyQuery as PolicyQuery
    from artificer.core.policy import PolicyText as PolicyText
    from artificer.core.price import Price as Price
    from artificer.core.price import PriceTier as PriceTier
    from artificer.core.record import EventLine as EventLine
    from artificer.core.record import IntentLine as IntentLine
    from artificer.core.record import Line as Line
    from artificer.core.repeats import Repeats as Repeats
    from artificer.core.signals import Signal as Signal
    from artificer.core.sources import CallSource as CallSource
    from artificer.core.spec import Fallback as Fallback
    from artificer.core.spec import RunSpec as RunSpec
    from artificer.core.state import CallState as CallState
    from artificer.core.state import Doubt as Doubt
    from artificer.core.state import FailedModel as FailedModel
    from artificer.core.state import Pending as Pending
    from artificer.core.state import RunPhase as RunPhase
    from artificer.core.state import RunState as RunState
    from artificer.core.submission import Submission as Submission
    from artificer.core.taint import Taint as Taint
    from artificer.core.verdict import Verdict as Verdict
    from artificer.core.verdict import VerdictWord as VerdictWord
    from artificer.core.waits import CallWait as CallWait
    from artificer.core.waits import IdleStanding as IdleStanding
    from artificer.core.window import Window as Window
    from artificer.guard.guarded import Guarded as Guarded
    from artificer.guard.guarded import RecordedRuns as RecordedRuns
    from artificer.guard.tools import Guardable as Guardable
    from artificer.guard.tools import Guardables as Guardables
    from artificer.guard.tools import GuardOptions as GuardOptions
    from artificer.maintenance import Maintenance as Maintenance
    from artificer.money import BudgetConfig as BudgetConfig
    from artificer.money import LimitsConfig as LimitsConfig
    from artificer.money import PriceConfig as PriceConfig
    from artificer.money import ReplyLimits as ReplyLimits
    from artificer.money import TierConfig as TierConfig
    from artificer.ports import Budget as Budget
    from artificer.ports import Correction as Correction
    from artificer.ports import Memo as Memo
    from artificer.ports import Payload as Payload
    from artificer.ports import Signals as Signals
    from artificer.ports import Snapshots as Snapshots
    from artificer.ports import Versions as Versions
    from artificer.ports.attachment import Attachment as Attachment
    from artificer.ports.attachment import Prompt as Prompt
    from artificer.ports.budget import Amount as Amount
    from artificer.ports.budget import Reservation as Reservation
    from artificer.ports.budget import Settlement as Settlement
    from artificer.ports.budget import SpendingLimit as SpendingLimit
    from artificer.ports.budget import Spent as Spent
    from artificer.ports.executor import CallLocks as CallLocks
    from artificer.ports.executor import CallMonitor as CallMonitor
    from artificer.ports.executor import CallProgress as CallProgress
    from artificer.ports.executor import IdleRun as IdleRun
    from artificer.ports.executor import Outliving as Outliving
    from artificer.ports.journal import Claim as Claim
    from artificer.ports.journal import Durability as Durability
    from artificer.ports.journal import Head as Head
    from artificer.ports.journal import Lease as Lease
    from artificer.ports.journal import Record as Record
    from artificer.ports.journal import RunHead as RunHead
    from artificer.ports.journal import Spending as Spending
    from artificer.providers.scripted import ScriptedAnswer as ScriptedAnswer
    from artificer.report import Views as Views
    from artificer.run_artifact import RunArtifact as RunArtifact
    from artificer.run_artifact import RunArtifacts as RunArtifacts
    from artificer.runs import History as History
    from artificer.runtime.builds.promote import Promotion as Promotion
    from artificer.runtime.builds.tree import BuildNode as BuildNode
    from artificer.runtime.compare import Comparison as Comparison
    from artificer.runtime.compare import Difference as Difference
    from artificer.runtime.compare import First as First
    from artificer.runtime.compare import TurnDifference as TurnDifference
    from artificer.runtime.day_budget import DayBudget as DayBudget
    from artificer.runtime.explain import Explanation as Explanation
    from artificer.runtime.explain import Refusal as Refusal
    from artificer.runtime.family import ChildNode as ChildNode
    from artificer.runtime.keeping import StorageCheck as StorageCheck
    from artificer.runtime.keeping import Sweep as Sweep
    from artificer.runtime.kept import Compared as Compared
    from artificer.runtime.kept import KeptHeads as KeptHeads
    from artificer.runtime.progress import ReportProgress as ReportProgress
    from artificer.runtime.replay import Divergence as Divergence
    from artificer.runtime.run_list import ListedRun as ListedRun
    from artificer.runtime.run_list import RunFilter as RunFilter
    from artificer.runtime.run_list import RunListing as RunListing
    from artificer.runtime.search import Hit as Hit
    from artificer.runtime.summary import Summary as Summary
    from artificer.runtime.verify import Verification as Verification
    from artificer.values.base import Digest as Digest
    from artificer.values.base import JsonObject as JsonObject
    from artificer.values.base import JsonValue as JsonValue
    from artificer.values.base import Problem as Problem
    from artificer.values.blocks import AttachedBlock as AttachedBlock
    from artificer.values.blocks import AudioBlock as AudioBlock
    from artificer.values.blocks import Block as Block
    from artificer.values.blocks import CallStatus as CallStatus
    from artificer.values.blocks import FileBlock as FileBlock
    from artificer.values.blocks import ImageBlock as ImageBlock
    from artificer.values.blocks import Message as Message
    from artificer.values.blocks import ReasoningBlock as ReasoningBlock
    from artificer.values.blocks import TextBlock as TextBlock
    from artificer.values.blocks import ToolResultBlock as ToolResultBlock
    from artificer.values.blocks import ToolUseBlock as ToolUseBlock
    from artificer.values.message_history import MessageHistory as MessageHistory
    from artificer.values.model import ArgumentsDelta as ArgumentsDelta
    from artificer.values.model import Delta as Delta
    from artificer.values.model import FailureCode as FailureCode
    from artificer.values.model import ModelFailure as ModelFailure
    from artificer.values.model import ModelReply as ModelReply
    from artificer.values.model import ReasoningDelta as ReasoningDelta
    from artificer.values.model import RetryDelta as RetryDelta
    from artificer.values.model import StopReason as StopReason
    from artificer.values.model import TextDelta as TextDelta
    from artificer.wiring.builds import Builds as Builds
    from artificer.wiring.checklists import Checklists as Checklists
    from artificer.wiring.checklists import Ticked as Ticked
    from artificer.wiring.conversation import EarlierMessages as EarlierMessages
    from artificer.wiring.conversation import EarlierRun as EarlierRun
    from artificer.wiring.resources import WorldParts as WorldParts
    from artificer.wiring.signals import MessageOptions as MessageOptions

_NAMES = {
    # agents and tools
    "agent_definition": (
        "AgentDefinition",
        "AgentFields",
        "AgentKind",
        "AgentTool",
        "ChildOptions",
        "ExecutedTool",
        "InstructionsFunction",
        "Output",
        "OutputValidator",
        "Tool",
    ),
    "guard.guarded": ("Guarded", "RecordedRuns"),
    "guard.tools": ("Guardable", "Guardables", "GuardOptions"),
    "backends.function.decorator": ("FunctionTool", "ToolOptions"),
    "contracts.capabilities": ("Operation",),
    "contracts.definition": (
        "CedarKeys",
        "EffectClass",
        "Isolation",
        "ModelRequest",
        "Risk",
        "Toolset",
        "Trust",
    ),
    "ports.executor": ("CallLocks", "CallMonitor", "CallProgress", "IdleRun", "Outliving"),
    "artifacts.withdraw": ("Withdrawal",),
    "artifacts.ticks": ("ItemTick",),
    "artifacts.ticked": ("ItemState", "TickedChecklist"),
    "wiring.checklists": ("Checklists", "Ticked"),
    "providers.scripted": ("ScriptedAnswer",),
    # policies and settings
    "core.conditions": ("Match",),
    "core.policy": ("DecisionWord", "Occasion", "PolicyQuery", "PolicyText"),
    "core.sources": ("CallSource",),
    "core.taint": ("Taint",),
    "core.verdict": ("Verdict", "VerdictWord"),
    "backends.browser.settings": ("BrowserConfig",),
    "backends.mcp.settings": ("McpConfig", "McpOAuthConfig", "McpServerConfig"),
    "backends.sandbox.settings": ("SandboxConfig",),
    "config": ("ProviderConfig", "SharedLimits", "StudioConfig", "TelemetryConfig", "WorkerConfig"),
    "core.price": ("Price", "PriceTier"),
    "contracts.model_settings": ("Effort", "ModelKeys", "RequestSettings"),
    "money": ("BudgetConfig", "LimitsConfig", "PriceConfig", "ReplyLimits", "TierConfig"),
    "values.base": ("Digest", "JsonObject", "JsonValue", "Problem"),
    "values.blocks": (
        "AttachedBlock",
        "AudioBlock",
        "Block",
        "CallStatus",
        "FileBlock",
        "ImageBlock",
        "Message",
        "ReasoningBlock",
        "TextBlock",
        "ToolResultBlock",
        "ToolUseBlock",
    ),
    "values.message_history": ("MessageHistory",),
    "values.model": (
        "ArgumentsDelta",
        "Delta",
        "FailureCode",
        "ModelFailure",
        "ModelReply",
        "StopReason",
        "ReasoningDelta",
        "RetryDelta",
        "TextDelta",
    ),
    "ports.attachment": ("Attachment", "Prompt"),
    # signals, events and intents: the records of a run
    "core.signals": ("Signal",),
    "core.record": ("EventLine", "IntentLine", "Line"),
    "core.events": (
        "ApprovalAnswered",
        "BuildAdvanced",
        "CallContinued",
        "CallProbed",
        "CallWaiting",
        "CallsJudged",
        "CancelRequested",
        "ChecklistTicked",
        "CompactionFailed",
        "ContextCompacted",
        "DoubtResolved",
        "Event",
        "FollowUpReceived",
        "InterruptRequested",
        "ModelFailed",
        "ModelResponded",
        "Origin",
        "PauseRequested",
        "PromptReceived",
        "ReceiptIgnored",
        "ReplyChecked",
        "RunFinished",
        "RunForked",
        "RunPruned",
        "RunResumed",
        "Steered",
        "ToolReturned",
    ),
    "core.outputs": ("OutputRefs",),
    "core.intents": (
        "AdvanceBuild",
        "AskApproval",
        "CallTool",
        "CheckReply",
        "Compact",
        "Finish",
        "FinishReason",
        "Generate",
        "Intent",
        "JudgeCalls",
    ),
    "core.attachments": ("Attached",),
    "core.kinds": ("RunKind",),
    "core.repeats": ("Repeats",),
    "core.spec": ("Fallback", "RunSpec"),
    "core.submission": ("Submission",),
    "core.state": ("CallState", "Doubt", "FailedModel", "Pending", "RunPhase", "RunState"),
    "core.waits": ("CallWait", "IdleStanding"),
    "core.window": ("Window",),
    "artifacts.ref": (
        "ArtifactKind",
        "BuildArtifactKind",
        "DeliverableStatus",
        "FindingCode",
        "MadeKind",
    ),
    "artifacts.revision": ("Candidate",),
    "artifacts.completion": ("Completion",),
    "artifacts.handover": ("Handover",),
    "artifacts.phase": ("Phase", "Task"),
    "artifacts.plan": ("Constant", "Plan", "SpecRef"),
    "artifacts.spec": ("PhaseRef", "Spec"),
    "builds.attempts": ("Attempts",),
    "builds.facts": (
        "BasePrepared",
        "BaseRefused",
        "BuildCancelRequested",
        "BuildRequested",
        "Checked",
        "Concern",
        "ConcernKind",
        "ConsentGiven",
        "Decided",
        "Fact",
        "IntegrationRebuilt",
        "MergeRefused",
        "PlanDecision",
        "RebuildRefused",
        "RetryRequested",
        "RevisionRequested",
        "RunRested",
        "RunReturned",
        "SpecMerged",
        "Standing",
    ),
    "builds.jobs": (
        "AskConsent",
        "AskDecision",
        "CancelRun",
        "Check",
        "FinishBuild",
        "Job",
        "MergeSpec",
        "PrepareBase",
        "RebuildIntegration",
        "SpecTip",
        "StartRun",
        "StepId",
    ),
    "builds.state": ("Archived", "BuildState", "Ending", "PhaseState", "SpecState", "SpecStatus"),
    "builds.table": ("Pass", "Size", "StepKind"),
    "runtime.builds.promote": ("Promotion",),
    "runtime.builds.tree": ("BuildNode",),
    "runtime.family": ("ChildNode",),
    "wiring.builds": ("Builds",),
    # the journal, the budget, worlds and what they tell of runs
    "ports.journal": ("Claim", "Durability", "Head", "Lease", "Record", "RunHead", "Spending"),
    "ports": ("Budget", "Correction", "Memo", "Payload", "Signals", "Snapshots", "Versions"),
    "ports.budget": ("Amount", "Reservation", "Settlement", "SpendingLimit", "Spent"),
    "runtime.day_budget": ("DayBudget",),
    "archive": ("Archive",),
    "maintenance": ("Maintenance",),
    "report": ("Views",),
    "wiring.conversation": ("EarlierMessages", "EarlierRun"),
    "wiring.resources": ("WorldParts",),
    "wiring.signals": ("MessageOptions",),
    "run_artifact": ("RunArtifact", "RunArtifacts"),
    "runtime.run_list": ("ListedRun", "RunFilter", "RunListing"),
    "runtime.search": ("Hit",),
    "runs": ("History",),
    "runtime.compare": ("Comparison", "Difference", "First", "TurnDifference"),
    "runtime.explain": ("Explanation", "Refusal"),
    "runtime.keeping": ("StorageCheck", "Sweep"),
    "runtime.kept": ("Compared", "KeptHeads"),
    "runtime.progress": ("ReportProgress",),
    "runtime.replay": ("Divergence",),
    "runtime.summary": ("Summary",),
    "runtime.verify": ("Verification",),
    "backends.workspace.service": ("Resolved", "VersionConflict", "Workspaces"),
    "backends.workspace.spec.edits": ("Applied",),
    "backends.workspace.spec.version": ("Version",),
}
_HOME = {name: home for home, names in _NAMES.items() for name in names}

__all__ = list(_HOME)

if not TYPE_CHECKING:  # or a type checker would find any name here

    def __getattr__(name: str) -> object:
        if (home := _HOME.get(name)) is None:
            raise AttributeError(f"module 'artificer.types' has no attribute {name!r}")
        return globals().setdefault(name, getattr(import_module(f"artificer.{home}"), name))

    def __dir__() -> list[str]:
        return sorted(__all__)
