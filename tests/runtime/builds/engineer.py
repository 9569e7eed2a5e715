"""A model that plays a competent engineer: it looks, plans, writes code with tests, and runs them.

It knows nothing of the run that it is in but what the request says, as a model would: which tools
it is offered, and what stands in its prompt.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from artificer.providers.scripted import ScriptedReply, call, reply, say
from artificer.values.base import JsonObject


@dataclass(frozen=True)
class Work:
    """The work of one phase: the files it writes, its changes to others, its check."""

    check: str
    writes: dict[str, str] = field(default_factory=dict)
    edits: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def files(self) -> list[str]:
        return [*self.writes, *self.edits]


@dataclass(frozen=True)
class Job:
    """A plan, and the work of each phase of each spec, in order.

    With ``tries`` each code run validates its work before it says that it is done.
    """

    title: str
    specs: dict[str, tuple[list[str], dict[str, Work]]]
    constants: tuple[dict[str, str], ...] = ()
    tries: bool = True


Inspect = Callable[[str, JsonObject], ScriptedReply | None]
"""Is shown the kind of each request first, and may answer in the engineer's place."""


class Engineer:
    """Answers by the tools that it is offered. ``runs`` lists the prompts of its runs."""

    def __init__(self, job: Job, inspect: Inspect | None = None) -> None:
        self.job = job
        self.inspect = inspect or (lambda kind, body: None)

    def __call__(self, body: JsonObject) -> ScriptedReply:
        said: Any = body
        offered = {tool["name"]: tool for tool in said["tools"]}
        kind = next(k for k, tool in _KINDS.items() if tool in offered)
        answer = self.inspect(kind, body)
        if answer is not None:
            return answer
        prompt = said["messages"][0]["blocks"][0]["text"]
        turn = sum(1 for message in said["messages"] if message["role"] == "assistant")
        return getattr(self, f"_{kind}")(turn, prompt, offered)  # type: ignore[no-any-return]

    def _plan(self, turn: int, prompt: str, offered: dict[str, Any]) -> ScriptedReply:
        if turn == 0:
            return reply(call("host.list"))
        specs = [
            {
                "name": name,
                "title": name.capitalize(),
                "description": f"Everything that {name} needs.",
                "dependencies": dependencies,
            }
            for name, (dependencies, _) in self.job.specs.items()
        ]
        made = call(
            "create_plan",
            title=self.job.title,
            overview="In parts that can be tested by themselves.",
            specs=specs,
            constants=list(self.job.constants),
        )
        return reply(made) if turn == 1 else say("Planned.")

    def _spec(self, turn: int, prompt: str, offered: dict[str, Any]) -> ScriptedReply:
        (name,) = offered["create_spec"]["input_schema"]["properties"]["name"]["enum"]
        phases = [
            {"name": p, "title": p.capitalize(), "description": f"Do {p}.", "files": w.files}
            for p, w in self.job.specs[name][1].items()
        ]
        made = call("create_spec", name=name, title=name, overview="As planned.", phases=phases)
        return reply(made) if turn == 0 else say("Specified.")

    def _phase(self, turn: int, prompt: str, offered: dict[str, Any]) -> ScriptedReply:
        (name,) = offered["create_phase"]["input_schema"]["properties"]["name"]["enum"]
        work = self._work(prompt, name)
        tasks: list[dict[str, str]] = [
            {"description": f"Write {file}.", "file": file} for file in work.files
        ]
        made = call(
            "create_phase",
            name=name,
            title=name.capitalize(),
            objective=f"{name} works.",
            tasks=tasks or [{"description": "See that it is there."}],
            validation_command=work.check,
        )
        return reply(made) if turn == 0 else say("Detailed.")

    def _code(self, turn: int, prompt: str, offered: dict[str, Any]) -> ScriptedReply:
        phase = _own(prompt, "The phase")
        brief = "# The spec in the plan" not in prompt
        work = self.job.specs["brief"][1]["brief"] if brief else self._work(prompt, phase)
        if turn == 0:
            reads = [call("host.read", path=path) for path in work.edits]
            return reply(*(reads or [call("host.list")]))
        if turn == 1:
            changes = [
                call("host.write", path=path, text=textwrap.dedent(text).lstrip())
                for path, text in work.writes.items()
            ]
            changes += [
                call("host.edit", path=path, old=old, new=new)
                for path, (old, new) in work.edits.items()
            ]
            return reply(*(changes or [call("host.list")]))
        if turn == 2 and self.job.tries:
            return reply(call("run_validation"))
        done = call("complete_task", summary="Done.", nothing_to_do=not work.files)
        return reply(done) if turn == 2 + self.job.tries else say("Done.")

    def _judge(self, turn: int, prompt: str, offered: dict[str, Any]) -> ScriptedReply:
        schema = offered["submit_verdict"]["input_schema"]["properties"]["criteria"]
        found = [
            {"criterion": n, "met": True, "evidence": "The work shows it."}
            for n in range(1, schema["maxItems"] + 1)
        ]
        made = call("submit_verdict", verdict="accept", criteria=found)
        return reply(made) if turn == 0 else say("Judged.")

    def _work(self, prompt: str, phase: str) -> Work:
        spec = _own(prompt, "The spec in the plan")
        return self.job.specs[spec][1][phase]


_KINDS = {
    "plan": "create_plan",
    "spec": "create_spec",
    "phase": "create_phase",
    "code": "complete_task",
    "judge": "submit_verdict",
}


def _own(prompt: str, heading: str) -> str:
    """The name in the JSON below a heading of a prompt."""
    found = re.search(rf"^# {heading}\n\n```json\n(.*?)\n```", prompt, re.MULTILINE | re.DOTALL)
    assert found, prompt
    return str(json.loads(found[1])["name"])


UNITTEST = "python -m unittest -q"
