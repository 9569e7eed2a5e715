"""The section ``[sqlite]`` of a manifest: a query that reads a database file."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from artificer.extend import Fault, ManifestKeys, ManifestSection

_PLACEHOLDER = re.compile(r":([A-Za-z_]\w*)")


class SqliteKeys(BaseModel):
    """The keys of the section. ``:name`` in the query is the value of the argument ``name``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Annotated[str, Field(min_length=1)]
    query: Annotated[str, Field(min_length=1)]


class SqliteSection(ManifestSection[SqliteKeys, SqliteKeys]):
    """Reads the section. Its part of a manifest is the keys themselves."""

    name = "sqlite"
    keys = SqliteKeys

    def read(
        self, manifest: ManifestKeys, keys: SqliteKeys, faults: list[Fault], *, compat: bool
    ) -> SqliteKeys:
        """Return the keys; placeholders and arguments must be the same."""
        places = set(_PLACEHOLDER.findall(keys.query))
        faults += [
            Fault((self.name, "query"), f":{name} is not an argument")
            for name in sorted(places - set(manifest.args))
        ]
        faults += [
            Fault(("args", name), "is not used by the query")
            for name in manifest.args
            if name not in places
        ]
        return keys
