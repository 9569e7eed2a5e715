"""The table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FAULTS = {
    "duplicate": "duplicate",
    "lost": "lost",
    "misreported": "misreported",
    "repaid": "paid twice",
    "unrecoverable": "unrecoverable",
}


def markdown(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Every runtime beside every scenario, then each runtime's sums."""
    found = [result for result in results.values() if "name" in result]
    rows = {row["scenario"]: None for result in found for row in result["rows"]}
    lines = [
        "| | " + " | ".join(f"{r['name']} {r['version']}" for r in found) + " |",
        "| --- |" + " --- |" * len(found),
    ]
    for scenario in rows:
        cells = [_cell(_row(result, scenario)) for result in found]
        lines.append(f"| {scenario} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "| in all | " + " | ".join(["trials", *FAULTS.values(), "said to be unsure"]) + " |",
    ]
    lines.append("| --- |" + " --: |" * (len(FAULTS) + 2))
    for result in found:
        played = [row for row in result["rows"] if "trials" in row]
        sums = [sum(row[key] for row in played) for key in ("trials", *FAULTS, "unsure")]
        lines.append(f"| {result['name']} | " + " | ".join(map(str, sums)) + " |")
    return "\n".join(lines)


def _row(result: Mapping[str, Any], scenario: str) -> Mapping[str, Any]:
    return next(
        (row for row in result["rows"] if row["scenario"] == scenario), {"not": "not tried"}
    )


def _cell(row: Mapping[str, Any]) -> str:
    if "not" in row:
        return f"n/a: {row['not']}"
    said = [f"{row[key]} {word}" for key, word in FAULTS.items() if row[key]]
    unsure = f" ({row['unsure']} unsure)" if row["unsure"] else ""
    return f"{', '.join(said) or '0'} of {row['trials']}{unsure}"
