"""Facts about a checkout, as two tools: its files, and its history.

Plain Python, and git where there is one. Without git the folder itself is
read, and the history is reported as unknown.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from artificer import tool

ROOT = Path(os.environ.get("DEMO_CHECKOUT", Path(__file__).parents[2])).resolve()
"""The checkout that the demo is about: the one this file is in."""

MAX_FILES = 20_000
MAX_BYTES = 4_000_000
"""Files that are read, and the size of each; larger ones count without lines."""

SHOWN = 12
"""Folders, languages and files that are listed."""

LANGUAGES = {
    ".py": "Python",
    ".md": "Markdown",
    ".toml": "TOML",
    ".json": "JSON",
    ".jsonl": "JSON",
    ".html": "HTML",
    ".css": "CSS",
    ".js": "JavaScript",
    ".cjs": "JavaScript",
    ".sh": "Shell",
    ".yml": "YAML",
    ".yaml": "YAML",
    ".svg": "SVG",
    ".jinja": "Jinja",
    ".txt": "Text",
    ".lock": "Lock files",
    ".c": "C",
    ".go": "Go",
    ".rs": "Rust",
    ".ts": "TypeScript",
}
_LEFT_OUT = ("node_modules", "__pycache__", "site", "mutants", "build", "dist")


@dataclass
class Found:
    """A file of the checkout. ``lines`` is None if it is not text."""

    path: str
    bytes: int
    lines: int | None


@tool(effect="pure")
def count_files() -> dict[str, object]:
    """Count the files and lines of this checkout by language and folder."""
    found = [_read(path) for path in _paths()]
    texts = [file for file in found if file.lines is not None]
    largest = sorted(texts, key=lambda it: (-(it.lines or 0), it.path))[:SHOWN]
    return {
        "files": len(found),
        "text_files": len(texts),
        "lines": sum(file.lines or 0 for file in texts),
        "languages": _grouped("language", texts, _language),
        "folders": _grouped("folder", texts, _folder),
        "largest": [{"file": it.path, "lines": it.lines, "bytes": it.bytes} for it in largest],
    }


@tool(effect="pure")
def read_history() -> dict[str, object]:
    """Count the commits of this checkout by week, or by day or hour where it is young."""
    lines = _git("log", "--format=%ct")
    if not lines:
        return {"known": False, "why": "git or its history is not here"}
    moments = [datetime.fromtimestamp(int(line), UTC) for line in lines]
    name, counted = _by_time(moments)
    rows = [{name: moment, "commits": number} for moment, number in counted]
    return {"known": True, "shallow": is_shallow(), "commits": len(moments), f"{name}s": rows}


def has_history() -> bool:
    """Return whether git knows at least one commit of the checkout."""
    return bool(_git("log", "-1", "--format=%ct"))


def is_shallow() -> bool:
    """Return whether git was given only the last part of the history."""
    return _git("rev-parse", "--is-shallow-repository") == ["true"]


def _by_time(moments: list[datetime]) -> tuple[str, list[tuple[str, int]]]:
    """Count times by the span that gives three to about thirty rows, including empty ones."""
    first, last = min(moments), max(moments)
    if last - first < timedelta(days=3):
        hours = Counter(moment.replace(minute=0, second=0) for moment in moments)
        start = max(min(hours), max(hours) - timedelta(hours=30))
        steps = int((max(hours) - start) / timedelta(hours=1)) + 1
        spans = [start + timedelta(hours=n) for n in range(steps)]
        return "hour", [(span.strftime("%Y-%m-%d %H:00"), hours[span]) for span in spans]
    step = timedelta(days=7 if last - first >= timedelta(days=28) else 1)
    days = Counter(_start(moment.date(), step) for moment in moments)
    start = max(min(days), max(days) - 29 * step)
    numbers = range((max(days) - start) // step + 1)
    rows = [(start + n * step) for n in numbers]
    return "week" if step.days == 7 else "day", [(day.isoformat(), days[day]) for day in rows]


def _start(day: date, step: timedelta) -> date:
    return day - timedelta(days=day.weekday()) if step.days == 7 else day


def _grouped(name: str, files: list[Found], key: object) -> list[dict[str, object]]:
    groups: dict[str, list[Found]] = defaultdict(list)
    for file in files:
        groups[key(file)].append(file)  # type: ignore[operator]
    rows = [
        {name: label, "lines": sum(it.lines or 0 for it in group), "files": len(group)}
        for label, group in groups.items()
    ]
    return sorted(rows, key=lambda row: (-int(str(row["lines"])), str(row[name])))[:SHOWN]


def _language(file: Found) -> str:
    return LANGUAGES.get(Path(file.path).suffix.lower(), "Other text")


def _folder(file: Found) -> str:
    parts = file.path.split("/")
    depth = 2 if parts[0] in ("src", "packages") else 1
    return "/".join(parts[:-1][:depth]) or "(top)"


def _paths() -> list[str]:
    tracked = [path for path in _git("ls-files", "-z", split="\0") if (ROOT / path).is_file()]
    return (tracked or sorted(_walked()))[:MAX_FILES]


def _walked() -> Iterator[str]:
    """Yield the files of a folder without git; hidden and installed files are left out."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(it for it in folders if it not in _LEFT_OUT and not it.startswith("."))
        for name in files:
            if (path := Path(folder, name)).is_file() and not path.is_symlink():
                yield path.relative_to(ROOT).as_posix()


def _read(path: str) -> Found:
    """Read a file. Its lines are counted if it is text of no more than MAX_BYTES."""
    place = ROOT / path
    try:
        size = place.stat().st_size
        data = place.read_bytes() if size <= MAX_BYTES else b"\0"
    except OSError:
        return Found(path, 0, None)
    lines = None if b"\0" in data[:8_000] else len(data.splitlines())
    return Found(path, size, lines)


def _git(*arguments: str, split: str = "\n") -> list[str]:
    """Return what git says about the checkout, or nothing: git may be missing, or know nothing.

    A repository around an unpacked archive is not the checkout's own.
    """
    if not (ROOT / ".git").exists():
        return []
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return []
    return [part for part in done.stdout.split(split) if part] if done.returncode == 0 else []
