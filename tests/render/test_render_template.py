"""The templates: nothing that a model wrote is printed as it is."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup
from render_sample import report

from artificer.render.html import to_html
from artificer.render.language import language
from artificer.render.template import filled

HERE = Path(__file__).parent
HOSTILE = "<b onclick=x>\"'&\x00"


@pytest.mark.req("html-escaped")
def test_a_value_is_escaped_and_cleaned_and_markup_is_not() -> None:
    shown = filled("message", ui=language("en"), blocks=(HOSTILE, Markup("<p>kept</p>")))
    assert "<b" not in shown and "\x00" not in shown
    assert "&lt;b onclick=x&gt;&#34;&#39;&amp;\ufffd" in shown
    assert "<p>kept</p>" in shown


@pytest.mark.req("html-escaped")
def test_a_name_that_is_not_defined_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        filled("message")


@pytest.mark.req("html-escaped")
def test_no_template_turns_escaping_off() -> None:
    folder = resources.files("artificer.render").joinpath("templates")
    texts = [path.read_text("utf-8") for path in folder.iterdir()]
    assert len(texts) > 8
    assert not [t for t in texts if re.search(r"\|\s*safe\b|autoescape", t)]


@pytest.mark.req("html-deterministic")
def test_another_process_makes_the_same_bytes() -> None:
    program = (
        "import hashlib, render_sample; from artificer.render.html import to_html;"
        "print(hashlib.sha256(to_html(render_sample.report()).encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONPATH": str(HERE), "PYTHONHASHSEED": "7"}
    made = {
        subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert made == {hashlib.sha256(to_html(report()).encode()).hexdigest().encode() + b"\n"}
