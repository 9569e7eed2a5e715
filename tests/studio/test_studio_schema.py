"""schemathesis over the whole API: what is documented is what a real server does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from studio_kit import PATIENCE, serving

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config, StudioConfig
from artificer.core.policy import Policy, Rule
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.studio.api.openapi import document
from artificer.studio.tokens import SCOPES, ApiTokens
from artificer.world import World
from sampling import EXPLORE

pytestmark = [pytest.mark.req("studio-api"), pytest.mark.xdist_group("schemathesis")]

EXAMPLES = 12
SHARE = 0.5
"""The share of them that one commit draws, as of every property (tests/conftest.py)."""

DOCUMENT = document()

NAMES = [each["operationId"] for path in DOCUMENT["paths"].values() for each in path.values()]


@cache
def operations() -> dict[str, Any]:
    """The operations by their names. Only the process that tests them loads what finds them."""
    import schemathesis

    found = [each.ok() for each in schemathesis.openapi.from_dict(DOCUMENT).get_all_operations()]
    return {each.definition.raw["operationId"]: each for each in found}


@cache
def checks() -> list[Any]:
    """The checks of each response."""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    return [
        not_a_server_error,
        checks.content_type_conformance,
        checks.negative_data_rejection,
        checks.positive_data_acceptance,
        checks.response_schema_conformance,
        checks.status_code_conformance,
    ]


class Served:
    """A server in a thread of its own, with runs that hold something."""

    def __init__(self, folder: Path) -> None:
        self._tokens = ApiTokens(folder, lambda: 0)
        self._started: Future[tuple[str, list[str]]] = Future()
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self.headers = {"Authorization": f"Bearer {self._tokens.new('test', SCOPES, 1)[1]}"}
        self._thread.start()
        self.url, self.runs = self._started.result(PATIENCE / 1000)

    async def _serve(self) -> None:
        config = Config(studio=StudioConfig(requests_per_minute=1_000_000))
        async with World.in_memory(config) as world, serving(world, tokens=self._tokens) as studio:
            self._started.set_result((studio.url, [await _delivered(world), await _waiting(world)]))
            await self._end.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._loop.close()


async def _delivered(world: World) -> str:
    table = {"kind": "table", "id": "t", "columns": ["a"], "rows": [["1"], ["2"]]}
    model = ScriptedProvider(
        [reply(call("create_table", table=table)), say("{{artifact:table:t}}")]
    )
    return (await world.run("Make a table.", Agent(model))).id


async def _waiting(world: World) -> str:
    @tool
    def launch(target: str) -> str:
        """Launch something."""
        return target

    policy = Policy(rules=(Rule(decision="ask", tool="launch"),))
    model = ScriptedProvider([reply(call("launch", target="moon")), say("Done.")])
    return (await world.run("Launch it.", Agent(model, tools=[launch], policy=policy))).id


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = Served(tmp_path_factory.mktemp("world"))
    yield found
    found.close()


@pytest.mark.parametrize("name", NAMES)
def test_the_server_does_what_its_document_says(served: Served, name: str) -> None:
    operation = operations()[name]
    runs = st.sampled_from([*served.runs, None])

    @settings(
        max_examples=int(EXAMPLES * (EXPLORE or SHARE)),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), run=runs)
    def holds(case: Any, run: str | None) -> None:
        if run is not None and "run" in (case.path_parameters or {}):
            case.path_parameters["run"] = run
        for part in (case.query, case.body):  # nobody waits for a job or a signal here
            if isinstance(part, dict) and part.get("wait") in range(1, 31):
                part["wait"] = 0
        case.call_and_validate(
            base_url=served.url, headers=served.headers, checks=checks(), timeout=PATIENCE / 1000
        )

    holds()
