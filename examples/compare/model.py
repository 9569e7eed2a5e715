"""The model of the sixteen programs: its answers depend on the request alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from strict_server import Calls, Fails, Says, Turn

Body = dict[str, Any]


def _results(body: Body) -> list[str]:
    """The tool results after the last prompt."""
    results: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            results.append(_text(message))
        elif message["role"] == "user":
            results.clear()
    return results


def _text(message: Body) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", part["type"]) for part in content)


def _call(name: str, **arguments: object) -> tuple[str, str]:
    return name, json.dumps(arguments, separators=(",", ":"))


def function_tools(body: Body) -> Turn:
    results = _results(body)
    if not results:
        return Calls(_call("population", city="Bern"), _call("population", city="Zug"))
    return Says(f"Together they are {sum(map(int, results)):,}.")


def streaming(body: Body) -> Turn:
    results = _results(body)
    if not results:
        return Calls(_call("population", city="Bern"))
    return Says(f"In Bern live {int(results[0]):,} people.")


def structured_output(body: Body) -> Turn:
    """The first answer is wrong. An output is a text in JSON, or a call of a tool."""
    answered = any(message["role"] == "assistant" for message in body["messages"])
    order = json.dumps({"item": "lamp", "count": 3 if answered else 0})
    if "tools" in body:
        return Calls((body["tools"][0]["function"]["name"], order))
    return Says(order)


def conversation(body: Body) -> Turn:
    said = " ".join(_text(m) for m in body["messages"] if m["role"] == "user")
    if "What is my name?" not in said:
        return Says("Hello, Ada.")
    return Says("Your name is Ada." if "My name is Ada." in said else "I do not know your name.")


def images(body: Body) -> Turn:
    parts = body["messages"][-1]["content"]
    seen = isinstance(parts, list) and any(
        part.get("image_url", {}).get("url", "").startswith("data:image/png;base64,")
        for part in parts
    )
    return Says("It is red." if seen else "I see no picture.")


def approvals(body: Body) -> Turn:
    results = _results(body)
    return Says(results[0]) if results else Calls(_call("delete", path="notes.txt"))


def custom_executor(body: Body) -> Turn:
    results = _results(body)
    if not results:
        return Calls(_call("population", city="Bern"), _call("canton", city="Bern"))
    return Says(f"{int(results[0]):,} people live there, in the canton {results[1]}.")


def answer(body: Body) -> Turn:
    return Says("Air scatters blue light more than red light.")


class Settings:
    """Fails once, then answers with the settings of the request."""

    def __init__(self) -> None:
        self._failed = False

    def __call__(self, body: Body) -> Turn:
        if not self._failed:
            self._failed = True
            return Fails(503)
        tokens = body.get("max_tokens") or body.get("max_completion_tokens")
        return Says(f"temperature {body['temperature']}, seed {body['seed']}, {tokens} tokens")


def fallback(body: Body) -> Turn:
    return Says(f"I am {body['model']}.") if body["model"] == "gpt-4o" else Fails(503)


def sub_agent(body: Body) -> Turn:
    if "You know Bern." in _text(body["messages"][0]):
        return Says("the clock tower")
    results = _results(body)
    return Says(f"See {results[0]}.") if results else Calls(_call("ask_guide", prompt="What?"))


def dependencies(body: Body) -> Turn:
    results = _results(body)
    return Says(results[0]) if results else Calls(_call("order", item="lamp"))


ANSWERS: dict[str, Callable[[], Callable[[Body], Turn]]] = {
    "01_function_tools": lambda: function_tools,
    "02_streaming": lambda: streaming,
    "03_structured_output": lambda: structured_output,
    "04_conversation": lambda: conversation,
    "05_images": lambda: images,
    "06_approvals": lambda: approvals,
    "07_custom_provider": lambda: answer,
    "08_custom_executor": lambda: custom_executor,
    "09_fastapi": lambda: answer,
    "10_notebook": lambda: answer,
    "11_pytest": lambda: answer,
    "12_settings": Settings,
    "13_fallback": lambda: fallback,
    "14_usage": lambda: answer,
    "15_sub_agent": lambda: sub_agent,
    "16_dependencies": lambda: dependencies,
}
"""The programs, and the model of each."""
