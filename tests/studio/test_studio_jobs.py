"""The runner protocol: leases, fencing tokens, endings, dead letters, and hostile workers."""

from __future__ import annotations

import base64
import html
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from studio_kit import http_client, serving
from worker_kit import ServedJobs

from artificer.agent import Agent
from artificer.core.signals import Cancel, Steer
from artificer.errors import OwnedError
from artificer.providers.scripted import ScriptedProvider, say
from artificer.studio.api.declared import ApiEndpoint
from artificer.studio.api.endpoints import ENDPOINTS
from artificer.studio.jobs.job_file import JobFile
from artificer.studio.jobs.queue import JobQueue
from artificer.studio.jobs.rows import JobPlace, next_page
from artificer.studio.words import clock
from artificer.values.canon import canonical, digest_of
from artificer.values.model import ModelFailure
from artificer.world import World

pytestmark = pytest.mark.xdist_group("http-worker")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedJobs]:
    found = ServedJobs(tmp_path_factory.mktemp("tokens"))
    yield found
    found.close()


class Worker:
    """A program that only knows HTTP."""

    def __init__(self, served: ServedJobs, token: str) -> None:
        self._served, self._token = served, token

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Return the status and the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._served.url}/api/v1{path}", data)
        request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if path.count("/blobs/") == 0 else text
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())["error"]["code"]

    def lease(self, **wanted: Any) -> dict[str, Any]:
        """Lease a job."""
        job: dict[str, Any] = self.ask("/jobs/lease", wanted)[1]["job"]
        return job


def held(job: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The lease of a job, as requests name it."""
    return {"attempt": job["attempt"], "fence": job["fence"], **more}


async def _open_run(world: World) -> str:
    """A run that nobody executes: its model was not to be reached."""
    gone = ModelFailure(code="unavailable", message="gone", attempts=1)
    return (await world.run("Hello.", Agent(ScriptedProvider([gone])))).id


@pytest.fixture
def run(served: ServedJobs) -> str:
    """A submitted run of a fresh world."""
    world = served.serve()
    run: str = served.run(_open_run(world))
    served.run(served.jobs.submit(run, 3, 2))
    return run


@pytest.fixture
def worker(served: ServedJobs) -> Worker:
    return Worker(served, served.token())


@pytest.mark.req("http-worker-leases")
class TestLeases:
    def test_a_job_is_leased_once_and_what_is_stale_is_refused(
        self, served: ServedJobs, run: str, worker: Worker
    ) -> None:
        first = worker.lease(seconds=1)
        assert (first["run"], first["attempt"], first["former"]) == (run, 1, "")
        other = Worker(served, served.token())
        assert other.lease() is None
        _lapse(served, run)
        second = other.lease()
        assert (second["run"], second["attempt"]) == (run, 2)
        assert second["fence"] > first["fence"]
        assert second["former"].startswith("http-")  # it is not known to be dead
        for what in ("heartbeat", "complete", "release"):
            assert worker.ask(f"/jobs/{run}/{what}", held(first)) == (409, "fenced")
            mixed = held(second, fence=first["fence"])
            assert other.ask(f"/jobs/{run}/{what}", mixed) == (409, "fenced")
            assert worker.ask(f"/jobs/{run}/{what}", held(second)) == (409, "fenced")
        assert other.ask(f"/jobs/{run}/heartbeat", held(second))[0] == 200
        assert other.ask("/jobs/nobody/heartbeat", held(second)) == (404, "not_found")

    def test_a_lease_is_the_same_for_a_request_that_is_sent_twice(
        self, run: str, worker: Worker
    ) -> None:
        first = worker.lease(request="r")
        again = worker.lease(request="r")
        assert (again["run"], again["attempt"]) == (run, first["attempt"])
        assert worker.lease(request="s") is None
        assert worker.lease() is None

    def test_a_released_job_is_leased_at_once_and_its_worker_is_gone(
        self, served: ServedJobs, run: str, worker: Worker
    ) -> None:
        first = worker.lease()
        status, answer = worker.ask(f"/jobs/{run}/release", held(first))
        assert (status, answer["state"], answer["failures"]) == (200, "queued", 0)
        second = Worker(served, served.token()).lease()
        assert (second["attempt"], second["former"]) == (2, "")

    def test_a_lease_that_has_ended_is_lost_whether_or_not_somebody_asked_since(
        self, served: ServedJobs, run: str, worker: Worker
    ) -> None:
        job = worker.lease()
        _lapse(served, run)
        named = f"attempt={job['attempt']}&fence={job['fence']}"
        assert worker.ask(f"/jobs/{run}/records?{named}&of={run}") == (409, "fenced")
        assert worker.ask(f"/jobs/{run}/heartbeat", held(job)) == (409, "fenced")

    def test_an_ending_that_is_said_twice_counts_once(self, run: str, worker: Worker) -> None:
        job = worker.lease()
        assert worker.ask(f"/jobs/{run}/complete", held(job)) == (409, "conflict")  # it is open
        parked = held(job, outcome="parked", seconds=600)
        first = worker.ask(f"/jobs/{run}/complete", parked)
        assert (first[0], first[1]["state"]) == (200, "parked")
        assert worker.ask(f"/jobs/{run}/complete", parked) == first
        assert worker.ask(f"/jobs/{run}/complete", parked | {"seconds": 5}) == (409, "fenced")
        assert worker.lease() is None

    def test_too_many_failures_make_a_dead_letter(
        self, served: ServedJobs, run: str, worker: Worker
    ) -> None:
        job = worker.lease()
        failed = held(job, error="no key")
        assert worker.ask(f"/jobs/{run}/fail", failed)[1]["failures"] == 1
        assert worker.ask(f"/jobs/{run}/fail", failed)[1]["failures"] == 1
        assert worker.lease() is None  # it waits a while
        served.run(_now_due(served, run))
        worker.ask(f"/jobs/{run}/fail", held(worker.lease(), error="no key"))
        looker = Worker(served, served.token("read", "act"))
        dead = looker.ask("/jobs?state=dead")[1]["jobs"]
        assert [(one["run"], one["error"]) for one in dead] == [(run, "no key")]
        (counted,) = served.jobs.metrics()
        assert (counted.values["dead"], counted.values["leased"]) == (1, 0)
        assert looker.ask(f"/jobs/{run}/requeue", {})[1]["state"] == "queued"
        assert worker.lease()["attempt"] == 3

    def test_cancel_reaches_a_worker_and_a_taken_run_is_lost(
        self, served: ServedJobs, run: str, worker: Worker
    ) -> None:
        job = worker.lease()
        assert worker.ask(f"/jobs/{run}/heartbeat", held(job))[1]["cancel"] is False
        position = worker.ask("/signals")[1]["position"]
        served.run(served.world.send(run, Cancel(reason="enough")))
        assert worker.ask(f"/signals?position={position}&wait=20")[1]["runs"] == [run]
        beat = worker.ask(f"/jobs/{run}/heartbeat", held(job))[1]
        assert (beat["cancel"], beat["signals"]) == (True, 1)
        served.run(served.world.cancel(run, "by force"))
        assert worker.ask(f"/jobs/{run}/heartbeat", held(job)) == (409, "fenced")

    def test_leases_outlive_the_server(
        self, served: ServedJobs, worker: Worker, tmp_path: Path
    ) -> None:
        """The queue is a file, which the next server goes on with."""
        run = served.run(_open_run(served.serve(home=tmp_path)))
        served.run(served.jobs.submit(run, 3, 2))
        job = worker.lease()
        served.serve(home=tmp_path)
        assert worker.lease() is None, "it is leased"
        assert worker.ask(f"/jobs/{run}/heartbeat", held(job))[0] == 200
        assert worker.ask(f"/jobs/{run}/fail", held(job, error="no tool"))[0] == 200
        served.serve(home=tmp_path)
        assert worker.ask(f"/jobs/{run}/heartbeat", held(job)) == (409, "fenced")
        assert served.jobs.queue.get(run).attempt == 1

    def test_without_its_file_a_queue_begins_again_and_no_record_is_lost(
        self, served: ServedJobs, worker: Worker, tmp_path: Path
    ) -> None:
        world = served.serve(home=tmp_path)
        agent = Agent(ScriptedProvider([]))
        run: str = served.run(world.submit("Hello.", agent, name="it:agent"))
        first = worker.lease(wait=30)
        assert first["run"] == run
        served.serve()
        for path in tmp_path.rglob("jobs.db*"):
            path.unlink()
        served.serve(home=tmp_path)
        second = worker.lease(wait=30)
        assert (second["run"], second["attempt"]) == (run, 1)
        assert second["head"]["seq"] >= first["head"]["seq"]
        assert second["former"].startswith("http-"), "what the first one began is in doubt"
        assert worker.ask(f"/jobs/{run}/heartbeat", held(first)) == (409, "fenced")


@pytest.mark.req("http-worker-owner")
class TestOwner:
    def test_nobody_resumes_a_run_of_a_living_worker_without_force(
        self, served: ServedJobs, worker: Worker, tmp_path: Path
    ) -> None:
        run = served.run(_open_run(served.serve(home=tmp_path)))
        served.run(served.jobs.submit(run, 3, 2))
        job = worker.lease(seconds=600)
        agent = Agent(ScriptedProvider([say("Hello.")]))
        owned = r"owned by the worker worker \(token .*, which is alive: its lease ends at 2"
        with pytest.raises(OwnedError, match=owned) as refused:
            served.run(served.world.resume(run, agent))
        assert "--take-over" in str(refused.value.hint)
        assert worker.ask(f"/jobs/{run}/heartbeat", held(job))[0] == 200
        served.run(served.world.resume(run, agent, take_over=True))
        assert worker.ask(f"/jobs/{run}/heartbeat", held(job)) == (409, "fenced")

    def test_a_run_is_resumed_once_its_lease_has_ended(
        self, served: ServedJobs, worker: Worker, tmp_path: Path
    ) -> None:
        run = served.run(_open_run(served.serve(home=tmp_path)))
        served.run(served.jobs.submit(run, 3, 2))
        job = worker.lease()
        _lapse(served, run)
        agent = Agent(ScriptedProvider([say("Hello.")]))
        assert served.run(served.world.resume(run, agent)).status == "completed"
        assert worker.ask(f"/jobs/{run}/heartbeat", held(job)) == (409, "fenced")


@pytest.mark.req("studio-jobs")
class TestPage:
    async def test_an_operator_sees_who_has_what_and_tries_a_dead_letter_again(self) -> None:
        gone = ModelFailure(code="unavailable", message="gone", attempts=1)
        async with World.in_memory() as world, serving(world) as studio:
            run = (await world.run("Hello.", Agent(ScriptedProvider([gone])))).id
            jobs = studio.jobs
            await jobs.submit(run, 3, 1)
            async with http_client(studio.url, headers={"Origin": studio.url}) as client:
                assert (await client.get("/jobs")).status_code == 401
                await client.get("/", params={"key": studio.key})
                assert 'href="/jobs"' in (await client.get("/runs")).text
                assert "<td>waits for a worker</td>" in (await client.get("/jobs")).text
                row = jobs.queue.lease("token t", "<b>gpu</b>", "", 600)
                page = (await client.get("/jobs?state=leased")).text
                assert "&lt;b&gt;gpu&lt;/b&gt;" in page and "<b>gpu" not in page
                assert "with a worker" in page and clock(row.expires) in page
                jobs.queue.end(row, "queued", "", failed="<i>no key</i>")
                page = (await client.get("/jobs?state=dead&before=x")).text
                assert "&lt;i&gt;no key&lt;/i&gt;" in page and "1 of 1" in page
                assert (await client.post(f"/jobs/{run}")).status_code == 403, "another's form"
                key = re.search(r'name="form_key" value="([^"]+)"', page)
                assert key is not None
                sent = await client.post(f"/jobs/{run}", data={"form_key": key[1]})
                assert sent.headers["location"] == "/jobs?state=dead"
                assert jobs.queue.get(run).state == "queued"
                assert "No jobs match." in (await client.get("/jobs?state=dead")).text
                unknown = await client.post("/jobs/nobody", data={"form_key": key[1]})
                assert unknown.status_code == 404


@pytest.mark.req("studio-jobs")
class TestPlaces:
    def test_jobs_of_one_moment_are_listed_once_each_over_all_pages(self) -> None:
        queue = JobQueue(JobFile(None), lambda: 7)
        runs = ["a:b", "x y", "é", "7", *(f"r{n}" for n in range(6))]
        for run in runs:
            queue.submit(run)
        seen, place = list[str](), None
        while True:
            rows = queue.page(None, place, 3)
            seen += [row.run for row in rows]
            if (more := next_page(rows, 3)) is None:
                break
            place = JobPlace.of(more)
            assert place is not None
        assert sorted(seen) == sorted(runs) and seen == sorted(runs)
        assert queue.page(None, JobPlace.of("7"), 3) == []
        assert len(queue.page(None, JobPlace.of("8"), 20)) == len(runs)

    @pytest.mark.parametrize("text", ["", ":a", "x", "-1", "1" * 17, "²", "1\n"])
    def test_what_is_no_place_is_none(self, text: str) -> None:
        assert JobPlace.of(text) is None

    async def test_the_page_and_programs_turn_pages(self) -> None:
        async with World.in_memory() as world, serving(world) as studio:
            for n in range(51):
                studio.jobs.queue.submit(f"{n:02d}&a")
            async with http_client(studio.url) as client:
                await client.get("/", params={"key": studio.key})
                first = (await client.get("/jobs")).text
                older = re.search(r'href="([^"]+)" rel="next"', first)
                assert older is not None
                second = (await client.get(html.unescape(older[1]))).text
                assert (first + second).count('<th scope="row">') == 51
                assert 'rel="next"' not in second


def requests_of_workers() -> list[ApiEndpoint]:
    """The endpoints of the right ``work`` that are about one job."""
    return [one for one in ENDPOINTS if one.scope == "work" and one.path.startswith("/jobs/{")]


@pytest.mark.req("http-worker-hostile")
class TestHostile:
    def test_without_a_lease_there_is_nothing_to_see(
        self, served: ServedJobs, run: str, worker: Worker
    ) -> None:
        """Whatever a worker asks for, now and in later releases, it has to hold the lease."""
        others = Worker(served, served.token())
        job = others.lease()
        served.run(served.world.send(run, Steer(text="Faster.")))
        digest, named = digest_of(b""), f"attempt={job['attempt']}&fence={job['fence']}"
        asked = requests_of_workers()
        assert len(asked) > 15
        for endpoint in asked:
            path = endpoint.path.replace("{run}", run).replace("{blob}", digest)
            body = None
            if endpoint.method == "GET":
                wanted = {"of": run, "account": f"run:{run}", "now": 0, "name": "w"}
                known = endpoint.query.__struct_fields__
                more = [f"{name}={value}" for name, value in wanted.items() if name in known]
                path += "?" + "&".join([named, *more])
            else:
                body = held(job, **{n: v for n, v in BODY.items() if n in _members(endpoint)})
            assert worker.ask(path, body) == (409, "fenced"), path
        assert worker.ask("/signals") == (200, {"position": 0, "runs": []})
        assert worker.ask("/signals?position=0") == (200, {"position": 0, "runs": []})
        assert others.ask("/signals?position=0")[1]["runs"] == [run]
        _lapse(served, run)
        assert others.ask("/signals?position=0") == (200, {"position": 0, "runs": []})

    def test_a_worker_touches_its_own_job_alone(
        self, served: ServedJobs, run: str, worker: Worker
    ) -> None:
        secret = served.run(_blob(served.world, b"of another run"))
        other: str = served.run(_open_run(served.world))
        job = worker.lease()
        lease, end = held(job), job["head"]
        named = f"attempt={job['attempt']}&fence={job['fence']}"
        path = f"/jobs/{run}"
        assert worker.ask(f"{path}/records?{named}&of={other}") == (403, "forbidden")
        assert worker.ask(f"{path}/records?{named}&of={run}")[1]["records"]
        assert worker.ask(f"/jobs/{other}/records?{named}&of={other}") == (404, "not_found")
        assert worker.ask(f"{path}/acquire", lease | {"of": other}) == (403, "forbidden")
        assert worker.ask(f"{path}/blobs/{secret}?{named}") == (404, "not_found")
        account = f"{path}/accounts?{named}&now=0&account="
        assert worker.ask(f"{account}run:{other}") == (403, "forbidden")
        assert worker.ask(f"{path}/versions?{named}&name=w") == (403, "forbidden")
        assert worker.ask(f"/runs/{run}") == (403, "forbidden")

        def append(epoch: int = job["fence"], **said: Any) -> tuple[int, Any]:
            fact = {"run": run, "seq": end["seq"] + 1, "prev": end["hash"], **said}
            body = canonical(fact)
            line = {"seq": end["seq"] + 1, "hash": digest_of(body), "body": body.decode()}
            wanted = lease | {"of": run, "epoch": epoch, "head": end, "records": [line]}
            return worker.ask(f"{path}/records", wanted)

        assert append(epoch=job["fence"] + 1) == (409, "fenced")
        assert append(prev=digest_of(b"elsewhere")) == (422, "invalid_value")
        assert append(run=other) == (422, "invalid_value")
        assert append(blob=secret) == (422, "invalid_value")
        assert append(text=f"I have read of {secret}.")[0] == 200
        assert worker.ask(f"{path}/blobs/{secret}?{named}") == (404, "not_found")

    def test_what_a_workers_blob_refers_to_is_not_its_own(
        self, served: ServedJobs, run: str, worker: Worker
    ) -> None:
        secret = served.run(_blob(served.world, b"of another run"))
        job = worker.lease()
        data = base64.b64encode(json.dumps({"blob": secret}).encode()).decode()
        digest = worker.ask(f"/jobs/{run}/blobs", held(job, data=data))[1]["digest"]
        for _ in range(2):  # also for its next attempt
            named = f"attempt={job['attempt']}&fence={job['fence']}"
            assert worker.ask(f"/jobs/{run}/blobs/{digest}?{named}")[0] == 200
            assert worker.ask(f"/jobs/{run}/blobs/{secret}?{named}") == (404, "not_found")
            worker.ask(f"/jobs/{run}/release", held(job))
            job = worker.lease()


DIGEST = digest_of(b"")

BODY: dict[str, Any] = {
    "of": "r",
    "epoch": 1,
    "head": {},
    "records": [],
    "data": "",
    "body": "",
    "spending": {},
    "name": "w",
    "number": 1,
    "digest": DIGEST,
    "error": "It failed.",
    "permit": "p",
    "limits": ["requests.scripted.at_once"],
    "seconds": 1,
    "permits": [{"permit": "p", "limits": []}],
}
"""Members of the bodies of workers."""


def _members(endpoint: ApiEndpoint) -> tuple[str, ...]:
    assert endpoint.body is not None
    return endpoint.body.__struct_fields__


async def _blob(world: World, data: bytes) -> str:
    return world.storage.blobs.put(data)


async def _now_due(served: ServedJobs, run: str) -> None:
    served.jobs.wake(run)


def _lapse(served: ServedJobs, run: str) -> None:
    """Let a lease end now."""
    with served.jobs.queue._file.changing() as db:
        db.execute("UPDATE jobs SET expires = 1 WHERE run = ?", (run,))
