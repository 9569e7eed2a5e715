"""The programs of examples/compare: ours run, and none is longer than its peer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import preloaded

sys.path.append(str(Path(__file__).parents[1] / "examples" / "compare"))

import run as programs
from model import ANSWERS

OUTPUTS = {
    "01_function_tools": "Together they are 164,000.",
    "02_streaming": "[population: 134000]\nIn Bern live 134,000 people.",
    "03_structured_output": "Order(item='lamp', count=3)",
    "04_conversation": "Hello, Ada.\nYour name is Ada.",
    "05_images": "It is red.",
    "06_approvals": 'delete {"path":"notes.txt"}\nnotes.txt is deleted.',
    "07_custom_provider": "HELLO.",
    "08_custom_executor": "134,000 people live there, in the canton BE.",
    "09_fastapi": "Air scatters blue light more than red light.",
    "10_notebook": "Air scatters blue light more than red light.",
    "12_settings": "temperature 0.2, seed 7, 200 tokens",
    "13_fallback": "I am gpt-4o.",
    "14_usage": "10 5 $0.000075",
    "15_sub_agent": "See the clock tower. 15",
    "16_dependencies": "Ordered for Ada. ['lamp']",
}
"""The output of each program; ``make compare`` holds that the peer prints the same."""


@pytest.mark.req("compare-runs")
@pytest.mark.parametrize("name", ANSWERS)
async def test_our_program_prints_its_output(name: str) -> None:
    with preloaded.started_here():
        ran = await programs.run(name, "artificer")
    assert (ran.output.strip(), ran.status) == (OUTPUTS.get(name, ran.output.strip()), 0)


@pytest.mark.req("compare-length")
@pytest.mark.parametrize("name", ANSWERS)
def test_our_program_is_not_longer(name: str) -> None:
    ours = programs.lines_of_code(programs.program(name, "artificer"))
    assert 0 < ours <= programs.lines_of_code(programs.program(name, "pydantic_ai"))


@pytest.mark.req("compare-length")
def test_lines_of_code_are_neither_blank_nor_comments_docstrings_or_imports(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        '"""A docstring."""\n\nfrom os import (\n    path,\n)\n\n# A comment.\n'
        'text = """two\nlines"""  # and a remark\nprint(\n    text,\n)\n'
    )
    assert programs.lines_of_code(path) == 5
