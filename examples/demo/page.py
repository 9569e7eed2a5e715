"""Make a page about this checkout with the embedded model: `page.py FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import checkout
import prose

from artificer import Agent, ModelSettings, Observer, ToolChoice
from artificer.core.events import CallsJudged
from artificer.core.intents import Generate
from artificer.core.record import EventLine, IntentLine

PROMPT = "Show how this checkout is made: its languages, its folders and its history."


class Progress(Observer):
    """Prints a line for each turn."""

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Print what the model is asked for, and what was refused."""
        step = line.event if isinstance(line, EventLine) else line.intent
        if isinstance(step, Generate):
            print(f"   turn {step.turn}: {step.tool_choice.name or 'the words'} …", flush=True)
        elif isinstance(step, CallsJudged):
            for verdict in step.verdicts:
                if verdict.verdict != "allow":
                    print(f"   refused: {verdict.reason or verdict.content}", flush=True)


def turns(*, history: bool) -> tuple[str, ...]:
    """Return the tool that each turn has to call. The last turn calls none: it writes the text."""
    charts = ("create_bar_chart", "create_line_chart" if history else "create_pie_chart")
    values = ("create_value", "create_value")
    return ("count_files", "read_history", *values, *charts, "create_table", "none")


def agent(model: object = "local/smollm2") -> Agent:
    """Return the agent: two tools that count, and what its model is made to call in each turn."""
    history = checkout.has_history()
    wanted = turns(history=history)
    words = prose.grammar(shallow=checkout.is_shallow(), history=history)
    settings = [
        ModelSettings(tool_choice=ToolChoice(mode="none"), extra_body={"grammar": words})
        if name == "none"
        else ModelSettings(tool_choice=ToolChoice(mode="tool", name=name))
        for name in wanted
    ]
    return Agent(
        model,  # type: ignore[arg-type]
        instructions="You make short reports about a folder of code.",
        tools=[checkout.count_files, checkout.read_history],
        only=[name for name in dict.fromkeys(wanted) if name != "none"],
        settings=settings,
    )


def main(folder: Path) -> int:
    """Run the agent, save the page, and print the result."""
    run = agent().run_sync(PROMPT, observer=Progress())
    run.save(folder)
    print(f"   {run.status}, with {len(run.state.artifacts)} figures")
    return 0 if run.status == "completed" else 1


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
