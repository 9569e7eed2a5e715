"""The data that the calls of a turn cite: the recorded results that artifacts are bound to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from artificer.core.intents import Intent, JudgeCalls
from artificer.core.sources import cited_in
from artificer.core.state import RunState
from artificer.errors import NotFoundError
from artificer.ports import BlobStore
from artificer.values.blocks import ToolUseBlock


def data_for(state: RunState, intent: Intent, blobs: BlobStore) -> Mapping[str, bytes]:
    """Return the data that the calls to be judged cite, by label; none for any other intent.

    Data that is gone is left out, and the call that cites it is refused.

    Raises:
        TamperedError: a blob is not what was written.
    """
    if not isinstance(intent, JudgeCalls) or not state.sources:
        return {}
    return read_cited(state.history[-1].calls, state, blobs)


def read_cited(
    calls: Sequence[ToolUseBlock], state: RunState, blobs: BlobStore
) -> dict[str, bytes]:
    """Return the data that calls cite, by label, without any that is gone."""
    found: dict[str, bytes] = {}
    for label, digest in cited_in(calls, state.sources).items():
        try:
            found[label] = blobs.get(digest)
        except NotFoundError:
            continue
    return found
