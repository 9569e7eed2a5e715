"""ZIP files whose bytes depend on their contents only."""

from __future__ import annotations

import io
import zipfile

from artificer.render.export.exported import Files

_NEVER = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16


def zipped(files: Files) -> bytes:
    """Return an archive of the files, in their order: without times, owners or local settings."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, _NEVER)
            entry.create_system = 3
            entry.external_attr = _MODE
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def repacked(data: bytes) -> bytes:
    """Return an archive with the same files, written by :func:`zipped`."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return zipped({entry.filename: archive.read(entry) for entry in archive.infolist()})
