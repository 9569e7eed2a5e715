"""Beginning a run with the form of the first page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import cast, get_args

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from artificer.agent_definition import AgentKind
from artificer.errors import ArtificerError, AuthorError
from artificer.ports import Attachment
from artificer.studio.beginning import Beginning, begin, named_agent, require_tools
from artificer.studio.context import READ_FILES, Form, context_of, posted
from artificer.studio.prompt import Draft
from artificer.studio.views import home
from artificer.world import require_model

MAX_NAME = 200
"""Characters of the name of a model or an agent, and of a number."""

MAX_DOLLARS, MIN_DOLLARS = 1_000_000, 0.000_001


async def submit(request: Request) -> Response:
    """Begin a run, and go to its page; or show the form as it was filled in, and what is wrong."""
    context, form = context_of(request), await posted(request, files=READ_FILES)
    draft, field = _draft(form), ""
    try:
        for field, check in _CHECKS.items():
            check(getattr(draft, field))
        field = "files"
        attachments = await form.attachments()
        is_lost = bool(context.agents) and draft.agent not in ("", *context.agents)
        field = "agent" if is_lost else ""
        if is_lost:
            named_agent(context, draft.agent)
        field = "tool"
        if draft.tools is not None:
            await require_tools(context, draft.tools)
        field = "other_model" if draft.other_model else "model"
        if draft.chosen_model or not draft.agent:
            require_model(context.world, draft.chosen_model or None)
        field = ""
        run = await begin(context, _beginning(draft, attachments))
    except ArtificerError as error:
        problem = f"{error.message} {error.hint or ''}".strip()
        return await home.show(request, draft=draft, problem=problem, field=field)
    return RedirectResponse(f"/runs/{run}", HTTPStatus.SEE_OTHER)


def _draft(form: Form) -> Draft:
    return Draft(
        prompt=form.text("prompt"),
        model=form.text("model")[:MAX_NAME],
        other_model=form.text("other_model")[:MAX_NAME],
        agent=form.text("agent")[:MAX_NAME],
        kind=form.text("kind"),
        cost=form.text("cost")[:MAX_NAME],
        turns=form.text("turns")[:MAX_NAME],
        tokens=form.text("tokens")[:MAX_NAME],
        tools=form.texts("tool") if form.text("tools") else None,
        had_files=form.has_files(),
    )


def _beginning(draft: Draft, attachments: tuple[Attachment, ...]) -> Beginning:
    """Return what was chosen. Raises AuthorError."""
    return Beginning(
        prompt=draft.prompt,
        attachments=attachments,
        model=draft.chosen_model,
        agent=draft.agent,
        kind=cast(AgentKind, draft.kind) if draft.kind else None,
        tools=draft.tools,
        cost=_dollars(draft.cost),
        turns=_count(draft.turns, "turns"),
        total_tokens=_count(draft.tokens, "tokens"),
    )


def _prompt(text: str) -> None:
    if not text:
        raise AuthorError("The prompt is empty.", hint="Describe the task.")
    if "\0" in text:
        raise AuthorError(
            "The prompt holds a NUL character: it is not text.", hint="Remove the character."
        )


def _kind(text: str) -> None:
    if text not in ("", *get_args(AgentKind)):
        raise AuthorError("The result is neither a report nor a chat.")


def _dollars(text: str) -> float | None:
    if not text:
        return None
    try:
        dollars = float(text)
    except ValueError:
        dollars = math.nan
    if not MIN_DOLLARS <= dollars <= MAX_DOLLARS:
        raise AuthorError("The cost is not an amount of dollars.", hint="Write it as 0.50.")
    return dollars


def _count(text: str, name: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < len(text) <= 12 and int(text)):
        raise AuthorError(
            f"The limit on {name} is not a positive whole number.",
            hint="Write a number such as 20, or leave the field empty.",
        )
    return int(text)


_CHECKS: Mapping[str, Callable[[str], object]] = {
    "prompt": _prompt,
    "kind": _kind,
    "cost": _dollars,
    "turns": partial(_count, name="turns"),
    "tokens": partial(_count, name="tokens"),
}
"""The fields of the form that can be wrong by themselves. Each check raises AuthorError."""
