"""Take the pictures of the README: ``make pictures``. Needs Chromium and the extra ``charts``.

The model is scripted, so the pictures show the same run every time. All else is what a user sees.
"""

from __future__ import annotations

import html
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from artificer import Agent, tool
from artificer.backends.browser.window import browser_program
from artificer.testing import ScriptedProvider, call, reply

HERE = Path(__file__).parent
DEMO = HERE.parents[1] / ".demo" / "report" / "report.html"
REPORT = """## Water use fell by a fifth

The garden took 412 litres a day before the rain barrels, and 331 after.

{{artifact:chart:litres-a-day}}

What is left to do:

{{artifact:checklist:next-steps}}
"""
PAGE = """<style>body {{ margin: 0; background: #16181d }}
pre {{ color: #dfe3ea; font: 15px/1.45 monospace; padding: 18px 22px; margin: 0 }}
b {{ color: #8fd19e }}</style><pre>{0}</pre>"""


@tool(effect="pure")
async def litres(month: str) -> int:
    """Return the litres of water that the garden used on a day, on average."""
    return {"May": 412, "June": 331}[month]


def model() -> ScriptedProvider:
    """Return a model that reads two figures, makes a chart and a list, and delivers."""
    series = [{"name": "Litres", "values": [412, 331]}]
    steps = [{"id": "gauge", "label": "Fit a gauge"}, {"id": "leaks", "label": "Look for leaks"}]
    checklist = {"kind": "checklist", "id": "next-steps", "items": steps}
    bars = {"labels": ["May", "June"], "series": series}
    return ScriptedProvider(
        [
            reply(call("litres", month="May"), call("litres", month="June")),
            reply(
                call("create_bar_chart", id="litres-a-day", title="Litres a day", **bars),
                call("create_checklist", checklist=checklist),
            ),
            REPORT,
        ]
    )


def screenshot(page: Path, size: str, picture: Path) -> None:
    """Take a picture of a page."""
    chromium = browser_program() or "chromium"
    command = (chromium, "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu")
    options = (f"--window-size={size}", f"--screenshot={picture}", page.as_uri())
    subprocess.run([*command, *options], check=True, capture_output=True)


def terminal(*commands: str) -> str:
    """Return what a terminal shows of these commands."""
    artificer = Path(sys.executable).with_name("artificer")
    shown = []
    for command in commands:
        words = [str(artificer), *command.split()]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        shown.append(f"<b>$ artificer {command}</b>\n{html.escape(done.stdout)}")
    return "\n".join(shown)


def main() -> None:
    """Run the agent once, and take both pictures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {"ARTIFICER_HOME": str(folder / "home"), "ARTIFICER_PROJECT": "garden"}
        agent = Agent(model(), tools=[litres])
        run = agent.run_sync("Did the rain barrels help?", run_id="garden-1")
        if run.status != "completed":
            raise SystemExit(f"The run is {run.status}: {run.text}")
        run.save(folder / "report")
        screenshot(folder / "report" / "report.html", "900,980", HERE / "report.png")
        page = folder / "terminal.html"
        text = terminal("show last", "replay last")
        page.write_text(PAGE.format(text), encoding="utf-8")
        screenshot(page, f"1080,{60 + 22 * text.count(chr(10))}", HERE / "terminal.png")
    if DEMO.is_file():  # after `make demo`
        screenshot(DEMO, "900,980", HERE / "demo.png")


if __name__ == "__main__":
    main()
