"""Every endpoint of the API."""

from __future__ import annotations

from http import HTTPStatus

from msgspec import Struct

from artificer.render.export.forms import ARTIFACT_FORMS, REPORT_FORMS
from artificer.run_artifact import RunArtifact
from artificer.runtime.explaining.explanation import Explanation
from artificer.runtime.limits.day_budget import DayBudget
from artificer.runtime.proving.compare import Comparison
from artificer.studio.api import (
    acting,
    comparing,
    deciding,
    keeping,
    looking,
    reading,
    ticking,
)
from artificer.studio.api import answers as a
from artificer.studio.api.declared import ApiEndpoint, EndpointWork
from artificer.studio.api.job_endpoints import job_endpoints
from artificer.studio.choices import Choices
from artificer.wiring.checklists import Ticked

ACCEPTED = HTTPStatus.ACCEPTED
STREAM = ("text/event-stream",)
REPORT = ("text/html", "text/markdown")
FILE = ("application/octet-stream",)
REPORTS = tuple(form.media_type for form in REPORT_FORMS.values())
ARTIFACTS = tuple(form.media_type for form in ARTIFACT_FORMS.values())


def _reading() -> list[ApiEndpoint]:
    of = "/runs/{run}"
    return [
        ApiEndpoint("GET", "/me", "read", reading.show_caller, a.CallerAnswer),
        ApiEndpoint("GET", "/runs", "read", reading.list_runs, a.RunPage, reading.RunsQuery),
        ApiEndpoint("GET", of, "read", reading.show_run, a.RunAnswer),
        ApiEndpoint("GET", f"{of}/explanation", "read", reading.explain_run, Explanation),
        ApiEndpoint(
            "GET", f"{of}/records", "read", reading.list_events, a.EventPage, reading.EventsQuery
        ),
        ApiEndpoint(
            "GET", f"{of}/events", "read", reading.stream_events, STREAM, reading.StreamQuery
        ),
        ApiEndpoint("GET", f"{of}/artifacts", "read", reading.list_artifacts, a.ArtifactList),
        ApiEndpoint(
            "GET", f"{of}/artifacts/{{artifact}}", "read", reading.show_artifact, RunArtifact
        ),
        ApiEndpoint(
            "GET", f"{of}/checklists", "read", ticking.list_checklists, ticking.ChecklistList
        ),
        ApiEndpoint("GET", f"{of}/related", "read", reading.show_related, a.RelatedRuns),
        ApiEndpoint(
            "GET",
            f"{of}/comparison",
            "read",
            reading.compare_runs,
            Comparison,
            reading.OtherRun,
        ),
        ApiEndpoint(
            "GET", f"{of}/report", "read", keeping.show_report, REPORT, keeping.ReportQuery
        ),
        ApiEndpoint("GET", f"{of}/export", "read", keeping.export_run, FILE),
        ApiEndpoint("GET", "/choices", "read", acting.show_choices, Choices),
        ApiEndpoint("POST", f"{of}/replay", "read", keeping.replay_run, a.ReplayAnswer),
        ApiEndpoint("GET", "/inbox", "read", reading.show_inbox, a.InboxAnswer, reading.InboxQuery),
        ApiEndpoint(
            "GET", "/search", "read", reading.search_records, a.HitList, reading.SearchQuery
        ),
        ApiEndpoint("GET", "/budget", "read", reading.show_budget, DayBudget),
    ]


def _looking_back() -> list[ApiEndpoint]:
    of = "/runs/{run}"
    return [
        ApiEndpoint(
            "GET",
            f"{of}/report-file",
            "read",
            keeping.send_report,
            REPORTS,
            keeping.ReportFileQuery,
        ),
        ApiEndpoint(
            "GET",
            f"{of}/artifact-file",
            "read",
            keeping.send_artifact,
            ARTIFACTS,
            keeping.ArtifactFileQuery,
        ),
        ApiEndpoint(
            "GET", f"{of}/records/{{record}}", "read", looking.show_record, looking.RecordAnswer
        ),
        ApiEndpoint(
            "GET", f"{of}/versions", "read", comparing.list_versions, comparing.VersionList
        ),
        ApiEndpoint(
            "GET",
            f"{of}/report-version",
            "read",
            comparing.show_report_version,
            comparing.ReportVersionAnswer,
            comparing.ReportVersionQuery,
        ),
        ApiEndpoint(
            "GET",
            f"{of}/report-changes",
            "read",
            comparing.compare_report,
            comparing.ReportDifference,
            comparing.ReportChangesQuery,
        ),
        ApiEndpoint(
            "GET",
            f"{of}/artifact-version",
            "read",
            comparing.show_artifact_version,
            RunArtifact,
            comparing.ArtifactVersionQuery,
        ),
        ApiEndpoint(
            "GET",
            f"{of}/artifact-changes",
            "read",
            comparing.compare_artifact,
            comparing.ArtifactDifference,
            comparing.ArtifactChangesQuery,
        ),
        ApiEndpoint("GET", f"{of}/sources", "read", looking.show_sources, looking.SourcesAnswer),
    ]


_Works = dict[str, tuple[EndpointWork, type[Struct]]]

_MESSAGES: _Works = {
    "steer": (acting.steer_run, acting.MessageBody),
    "follow-up": (acting.follow_up_run, acting.MessageBody),
    "pause": (acting.pause_run, acting.ReasonBody),
    "interrupt": (acting.interrupt_run, acting.ReasonBody),
    "cancel": (acting.cancel_run, acting.ReasonBody),
    "resume": (acting.resume_run, acting.ResumeBody),
}

_DECISIONS: _Works = {
    "approve": (deciding.answer_call, deciding.CallAnswer),
    "resolve": (deciding.resolve_call, deciding.Resolution),
    "decide": (deciding.decide_plan, deciding.PlanAnswer),
    "consent": (deciding.consent_to_change, deciding.ConsentAnswer),
    "revise": (deciding.revise_build, deciding.RevisionBody),
    "retry": (deciding.retry_build, deciding.RetryBody),
}


def _changing() -> list[ApiEndpoint]:
    made, of = HTTPStatus.CREATED, "/runs/{run}"
    begin = ApiEndpoint(
        "POST", "/runs", "act", acting.begin_run, a.Begun, body=acting.NewRun, status=made
    )
    fork = ApiEndpoint(
        "POST", f"{of}/fork", "act", acting.fork_run, a.Begun, body=acting.ForkBody, status=made
    )
    messages = [
        ApiEndpoint("POST", f"{of}/{name}", "act", work, a.Sent, body=body, status=ACCEPTED)
        for name, (work, body) in _MESSAGES.items()
    ]
    decisions = [
        ApiEndpoint("POST", f"{of}/{name}", "approve", work, a.Sent, body=body, status=ACCEPTED)
        for name, (work, body) in _DECISIONS.items()
    ]
    tick = ApiEndpoint(
        "POST", f"{of}/tick", "act", ticking.tick_item, Ticked, body=ticking.TickBody
    )
    return [begin, fork, tick, *messages, *decisions]


def _administering() -> list[ApiEndpoint]:
    verify, tokens = keeping.verify_world, a.TokenList
    return [
        ApiEndpoint("POST", "/verify", "admin", verify, a.VerificationAnswer),
        ApiEndpoint("GET", "/tokens", "admin", keeping.list_tokens, tokens),
        ApiEndpoint("DELETE", "/tokens/{token}", "admin", keeping.revoke_token, a.TokenAnswer),
    ]


ENDPOINTS = (*_reading(), *_looking_back(), *_changing(), *job_endpoints(), *_administering())
