"""Performing the calls of ``[sqlite]`` tools."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from artificer import Call, Executor, Receipt, ToolDefinition
from artificer.extend import ExecutorContext, Manifest, ManifestFile
from artificer.ports import Preview
from artificer.types import JsonObject, JsonValue
from artificer_plugin.spec import SqliteKeys


class SqliteExecutor:
    """Runs the queries of the manifests of one folder. Databases are opened read-only."""

    def __init__(
        self, manifests: Sequence[Manifest[SqliteKeys]], folder: Path, max_rows: int
    ) -> None:
        self._manifests = {manifest.tool.name: manifest for manifest in manifests}
        self._folder = folder
        self._max_rows = max_rows

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools of the manifests."""
        return tuple(manifest.definition for manifest in self._manifests.values())

    def preview(self, call: Call) -> Preview:
        """Return the query that a call would run (ports.Previewing)."""
        manifest = self._manifests[call.definition.name]
        bound = manifest.bind(call.arguments)
        return Preview({"query": manifest.part.query, "values": {**bound.values}}, bound.problems)

    async def execute(self, call: Call) -> Receipt:
        """Run the query in a thread, which ends at the call's time limit."""
        manifest = self._manifests[call.definition.name]
        bound = manifest.bind(call.arguments)
        ends = time.monotonic() + call.definition.timeout_ms / 1000
        try:
            rows = await asyncio.to_thread(self._rows, manifest.part, bound.values, ends)
        except sqlite3.Error as error:
            problem = f"{manifest.tool.name}: {error}"
            if time.monotonic() >= ends:
                return Receipt(status="timeout", content=problem)
            return Receipt(status="error", content=problem)
        whole = len(rows) <= self._max_rows
        content = {"rows": rows[: self._max_rows], "complete": whole}
        return Receipt(status="ok", content=json.dumps(content, ensure_ascii=False))

    def _rows(
        self, keys: SqliteKeys, values: Mapping[str, JsonValue], ends: float
    ) -> list[JsonObject]:
        path = (self._folder / keys.file).resolve()
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            database.execute("PRAGMA query_only = ON")
            database.set_progress_handler(lambda: time.monotonic() >= ends, 10_000)
            found = database.execute(keys.query, values).fetchmany(self._max_rows + 1)
        return [dict(row) for row in found]


def executors(
    files: Sequence[ManifestFile[SqliteKeys]], context: ExecutorContext
) -> Iterable[Executor]:
    """Return one executor for the queries of a folder."""
    manifests = [file.manifest for file in files]
    yield SqliteExecutor(manifests, context.folder or Path.cwd(), context.settings.max_rows)
