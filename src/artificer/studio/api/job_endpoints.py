"""The endpoints of jobs: for those who submit them, and for workers."""

from __future__ import annotations

from http import HTTPStatus

from msgspec import Struct

from artificer.studio.api import jobs, permits, working
from artificer.studio.api import worker_data as d
from artificer.studio.api.declared import ApiEndpoint, EndpointWork
from artificer.studio.jobs.exchange import Beat

FILE = ("application/octet-stream",)

_OF = "/jobs/{run}"


def job_endpoints() -> list[ApiEndpoint]:
    """Return the endpoints of the queue, of leases, and of what workers write."""
    made, one = HTTPStatus.CREATED, jobs.JobAnswer
    return [
        ApiEndpoint("GET", "/jobs", "read", jobs.list_jobs, jobs.JobPage, jobs.JobsQuery),
        ApiEndpoint("POST", "/jobs", "act", jobs.submit_job, one, body=jobs.JobBody, status=made),
        ApiEndpoint(
            "POST", "/jobs/lease", "work", jobs.lease_job, jobs.LeaseAnswer, body=jobs.LeaseBody
        ),
        ApiEndpoint("GET", _OF, "read", jobs.show_job, one),
        ApiEndpoint("POST", f"{_OF}/requeue", "act", jobs.requeue_job, one),
        ApiEndpoint("POST", f"{_OF}/heartbeat", "work", jobs.beat_job, Beat, body=jobs.BeatBody),
        ApiEndpoint(
            "POST", f"{_OF}/complete", "work", jobs.complete_job, one, body=jobs.CompleteBody
        ),
        ApiEndpoint("POST", f"{_OF}/fail", "work", jobs.fail_job, one, body=jobs.FailBody),
        ApiEndpoint("POST", f"{_OF}/release", "work", jobs.release_job, one, body=jobs.HeldBody),
        *_writing(),
        *_reading(),
    ]


def _writing() -> list[ApiEndpoint]:
    works: dict[str, tuple[EndpointWork, type[Struct], type[Struct]]] = {
        "acquire": (working.acquire_run, d.AcquiredAnswer, d.AcquireBody),
        "give-up": (working.give_up_run, d.NothingAnswer, d.GiveUpBody),
        "records": (working.append_records, d.HeadAnswer, d.AppendBody),
        "blobs": (working.put_blob, d.BlobAnswer, d.BlobBody),
        "signals": (working.post_signal, d.PostedAnswer, d.SignalBody),
        "spending": (working.spend_budget, d.NothingAnswer, d.SpendBody),
        "versions": (working.add_version, d.AddedAnswer, d.VersionBody),
        "permits": (permits.take_permit, d.PermitAnswer, d.PermitBody),
        "permits/renew": (permits.renew_permits, d.NothingAnswer, d.RenewBody),
        "permits/give-back": (permits.give_back_permits, d.NothingAnswer, d.GiveBackBody),
    }
    return [
        ApiEndpoint("POST", f"{_OF}/{name}", "work", work, answer, body=body)
        for name, (work, answer, body) in works.items()
    ]


def _reading() -> list[ApiEndpoint]:
    return [
        ApiEndpoint("GET", "/limits", "work", permits.list_limits, d.LimitStandings),
        ApiEndpoint(
            "GET", "/signals", "work", working.wait_for_signals, d.SinceAnswer, d.SinceQuery
        ),
        ApiEndpoint(
            "GET", f"{_OF}/records", "work", working.read_records, d.RecordAnswers, d.RecordsQuery
        ),
        ApiEndpoint("GET", f"{_OF}/blobs/{{blob}}", "work", working.get_blob, FILE, d.HeldQuery),
        ApiEndpoint(
            "GET", f"{_OF}/signals", "work", working.read_signals, d.SignalAnswers, d.SignalsQuery
        ),
        ApiEndpoint(
            "GET", f"{_OF}/accounts", "work", working.show_account, d.SpentAnswer, d.AccountQuery
        ),
        ApiEndpoint(
            "GET", f"{_OF}/versions", "work", working.show_version, d.VersionAnswer, d.VersionQuery
        ),
        ApiEndpoint(
            *("GET", f"{_OF}/workspaces", "work", working.list_workspaces),
            *(d.WorkspaceNames, d.WorkspacesQuery),
        ),
    ]
