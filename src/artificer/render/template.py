"""The page's markup: templates that escape every value and refuse an undefined one.

A text from a model is a ``str``, which is cleaned and escaped wherever a template prints it. Only
:class:`~markupsafe.Markup` is printed as it is: the result of another template, a drawing that was
rebuilt from known elements, or prose that passed the allow-list.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from jinja2 import BaseLoader, Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from artificer import render
from artificer.render.text import one_line, straight
from artificer.system.files import packaged


def filled(template: str, **values: object) -> Markup:
    """Return a template of this folder with ``values`` in it. Same values, same bytes."""
    return Markup(_environment().get_template(f"{template}.html").render(values))


def macro(template: str, name: str, *arguments: object) -> Markup:
    """Return the result of one macro of a template."""
    module = _environment().get_template(f"{template}.html").module
    return Markup(getattr(module, name)(*arguments))


def escaping(load: BaseLoader, finalize: Callable[[object], object] | None = None) -> Environment:
    """Return an environment whose templates escape every value and refuse an undefined one."""
    return Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=load,
    )


@cache
def _environment() -> Environment:
    load = FunctionLoader(lambda name: packaged(render, "templates", name))
    environment = escaping(load, _cleaned)
    environment.filters["one_line"] = one_line
    return environment


def _cleaned(value: object) -> object:
    """Replace what a document may not contain, and what reverses letters, except in markup."""
    return straight(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
