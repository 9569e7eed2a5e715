"""The storage of workers that only have HTTP passes the suites, against a real studio."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator

import pytest
from studio_kit import fixture
from worker_kit import AnyReach, ServedJobs

from artificer.ports import SharedLimit
from artificer.storage.remote.client import ApiClient
from artificer.storage.remote.leases import HeldJob, HeldJobs
from artificer.storage.remote.permits import RemotePermits
from artificer.storage.remote.storage import RemoteStorage
from artificer.studio.access import Actor
from artificer.testing.permits_suite import LONG_S, SHORT_S, PermitsSuite
from artificer.testing.storage_suite import StorageSuite

pytestmark = [pytest.mark.req("http-worker-storage"), pytest.mark.xdist_group("http-worker")]

DECIDED_ELSEWHERE = (
    "test_a_claim_is_admitted_by_the_former_owner",
    "test_a_refused_claim_changes_nothing",
    "test_who_may_still_act_is_shown_until_the_next_record",
    "test_of_many_claims_on_one_head_one_is_met",
    "test_a_stale_owner_releases_nothing",
    "test_a_person_can_put_an_account_right",
    "test_held_runs_are_listed_by_their_holders",
)
"""The server looks at the former owners of a run itself, and lets no worker correct a budget."""


class OneJob(HeldJobs):
    """One lease that holds whatever runs the suites name."""

    def __init__(self, job: HeldJob) -> None:
        super().__init__()
        self.job = job

    def of(self, run: str) -> HeldJob:
        return self.job

    def reading(self, run: str) -> HeldJob:
        return self.job

    def candidates(self) -> list[HeldJob]:
        return [self.job]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedJobs]:
    found = ServedJobs(tmp_path_factory.mktemp("tokens"))
    yield found
    found.close()


async def storage_of(served: ServedJobs) -> tuple[RemoteStorage, OneJob]:
    """The storage of a worker with one lease, which may touch everything."""
    served.serve(AnyReach())
    job, token = f"job-{secrets.token_hex(4)}", served.token()
    actor = served.run(_actor(served, token))
    served.jobs.queue.submit(job)
    leased = served.run(served.jobs.lease(actor, "", 600, 0, _stays))
    found = RemoteStorage(ApiClient(served.url, token), wait_s=0)
    return found, OneJob(HeldJob(job, leased.attempt, leased.fence, leased.head))


class TestRemote(StorageSuite):
    @fixture
    async def storage(self, served: ServedJobs) -> AsyncIterator[RemoteStorage]:
        found, held = await storage_of(served)
        for part in (found.journal, found.blobs, found.signals, found.budget, found.versions):
            vars(part)["_held"] = held
        yield found
        await found.aclose()


LIMITS = {"lanes.slow": 2, "lanes.other": 2, "model": 1, "one": 1, "other": 1, "five": 5}
RATES = {"rate": (2, LONG_S), "short": (1, SHORT_S), "fifty": (50, LONG_S)}


@pytest.mark.req("http-worker-permits")
class TestRemotePermits(PermitsSuite):
    @fixture
    async def permits(self, served: ServedJobs) -> AsyncIterator[RemotePermits]:
        found, held = await storage_of(served)
        served.jobs.permits.limits = {
            "all": (
                *(SharedLimit(name, count) for name, count in LIMITS.items()),
                *(SharedLimit(name, *rate) for name, rate in RATES.items()),
            )
        }
        vars(found.permits)["_held"] = held
        yield found.permits
        await found.aclose()


for _name in DECIDED_ELSEWHERE:
    setattr(TestRemote, _name, None)


async def _actor(served: ServedJobs, text: str) -> object:
    token = served.tokens.find(text)
    assert token is not None
    return Actor("worker", "", frozenset(token.scopes), f"token {token.id}", is_token=True)


async def _stays() -> bool:
    return False
