"""The views of the studio, each in the states that are looked at and tested."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from revised import FILES
from scenes import FormingModel
from studio_kit import Studio, expect

Arrange = Callable[[Any, FormingModel], Awaitable[None]]

NOWHERE = ("no-model", "no-model-tried", "nothing-waits", "no-runs")
"""The scenes of a world without runs and models."""

SOON = 500
"""Milliseconds until the model writes once more: the page may not have listened yet."""


class Scene(NamedTuple):
    """A view in one of its states. ``arrange`` brings the page into it."""

    name: str
    path: str
    arrange: Arrange | None = None

    def address(self, studio: Studio) -> str:
        """Where it is seen."""
        place = studio.empty if self.name in NOWHERE else studio
        assert place is not None
        return place.url + self.path

    @property
    def is_live(self) -> bool:
        """Whether the page never stops to load."""
        return self.path == "/runs/forming"


async def open_options(page: Any, _: FormingModel) -> None:
    """Open what can be chosen for a run."""
    await page.locator(".options > summary").click()
    await expect(page.get_by_label("At most, in turns")).to_be_visible()


async def mistake(page: Any, model: FormingModel) -> None:
    """Send the form of a prompt with a mistake in it."""
    await open_options(page, model)
    await page.get_by_label("What should it do?").fill("How did the autumn sale go?")
    await page.get_by_label("At most, in dollars").fill("half a dollar")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("amount of dollars")


async def try_all_the_same(page: Any, _: FormingModel) -> None:
    """Send the form of a prompt where no model answers."""
    await page.get_by_label("What should it do?").fill("How did the autumn sale go?")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("No model is configured")


async def write(page: Any, model: FormingModel) -> None:
    """Let the model write, until the page shows it."""
    while True:
        model.may_write.set()
        try:
            await expect(page.locator(".skeleton")).to_contain_text("Who came", timeout=SOON)
            await expect(page.locator("#forming")).to_contain_text("newsletter", timeout=SOON)
            break
        except AssertionError:
            continue


async def be_limited(page: Any, model: FormingModel) -> None:
    """Let the provider of the model want a pause, until the page says so."""
    model.is_limited = True
    while True:
        model.may_write.set()
        try:
            await expect(page.locator("#delayed")).to_contain_text("rate limit", timeout=SOON)
            break
        except AssertionError:
            continue
    model.is_limited = False


async def older(page: Any, _: FormingModel) -> None:
    """Go to the next page of a list."""
    await page.get_by_role("link", name="Older").click()
    await expect(page.get_by_role("link", name="Newest")).to_be_visible()


def preview_of(name: str) -> str:
    """The page of a file that somebody has attached."""
    return f"/runs/r/files/sha256:{hashlib.sha256(FILES[name]).hexdigest()}"


CHANGED = ("table:cities", "chart:people", "svg:map", "file:notes/a.md", "checklist:todo")
"""Artifacts that a follow-up has revised."""

BEGINNING = (
    Scene("no-model", "/"),
    Scene("no-model-tried", "/", try_all_the_same),
    Scene("nothing-waits", "/inbox"),
    Scene("no-runs", "/runs"),
    Scene("home", "/"),
    Scene("home-options", "/", open_options),
    Scene("home-mistake", "/", mistake),
    Scene("runs", "/runs"),
    Scene("runs-filtered", "/runs?text=sale&status=completed&since=2020-01-01"),
    Scene("runs-none", "/runs?text=nowhere"),
    Scene("runs-older", "/runs", older),
    Scene("inbox", "/inbox"),
    Scene("search", "/search"),
    Scene("found", "/search?q=orders"),
    Scene("found-nothing", "/search?q=nowhere"),
    Scene("jobs", "/jobs"),
    Scene("verify", "/verify"),
    Scene("not-found", "/runs/nowhere"),
)

RUNS = (
    Scene("run-done", "/runs/sale"),
    Scene("run-revised", "/runs/r"),
    Scene("run-streaming", "/runs/forming"),
    Scene("run-limited", "/runs/forming", be_limited),
    Scene("run-writing", "/runs/forming", write),
    Scene("run-asks", "/runs/asks"),
    Scene("run-paused", "/runs/paused"),
    Scene("run-failed", "/runs/failed"),
    Scene("plan", "/runs/plan"),
    Scene("built", "/runs/built"),
)

LOOKING_BACK = (
    Scene("timeline", "/runs/sale/records"),
    Scene("record", "/runs/sale/records/9"),
    Scene("sources", "/runs/sale/sources"),
    Scene("artifact", "/runs/sale/sources/table:products?row=1&column=2"),
    Scene("tree", "/runs/family/tree"),
    Scene("tree-built", "/runs/built/tree"),
    Scene("tree-all", "/runs/built/tree/0"),
    Scene("no-tree", "/runs/sale/tree"),
    Scene("replay", "/runs/sale/replay"),
    Scene("compare-choose", "/runs/sale/compare"),
    Scene("compare", "/compare?run=sale&run=again"),
)

ARTIFACTS = (
    Scene("artifacts", "/runs/r/artifacts"),
    Scene("chart-page", "/runs/sale/artifacts/chart:by-week"),
    Scene("table-page", "/runs/sale/artifacts/table:products"),
    Scene("value-page", "/runs/sale/artifacts/value:orders"),
    *(Scene(f"versions-{one.partition(':')[0]}", f"/runs/r/artifacts/{one}") for one in CHANGED),
    Scene("withdrawn", "/runs/r/artifacts/list:names"),
    *(
        Scene(f"changes-{one.partition(':')[0]}", f"/runs/r/artifacts/{one}/changes")
        for one in CHANGED
    ),
    Scene("report-versions", "/runs/r/artifacts/report"),
    Scene("changes-report", "/runs/r/artifacts/report/changes"),
    *(Scene(f"preview-{name.partition('.')[2]}", preview_of(name)) for name in FILES),
)

SCENES = (*BEGINNING, *RUNS, *LOOKING_BACK, *ARTIFACTS)
