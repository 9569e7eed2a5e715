"""A browser's tools, called by the names of its actions."""

from __future__ import annotations

import json
from typing import Any

from artificer.backends.browser.executor import BrowserExecutor
from artificer.backends.receipts import Now
from artificer.contracts.schema import compile_schema
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call, Receipt
from artificer.ports.clock import wall_time
from artificer.storage.blobs.memory import MemoryStore
from needs import needs

needs_browser = needs("chromium", "playwright")

HEAD = '[tool]\nname = "web"\nversion = "1"\ndescription = "The web."\ntimeout_seconds = 8\n'
COMMANDS = "".join(
    f"[browser.commands.{action}]\n"
    for action in (
        *("navigate", "go_back", "click", "scroll", "wait_for", "type_text", "submit_form"),
        *("snapshot", "extract", "extract_html", "screenshot", "list_tabs", "network_timing"),
        "execute_js",
    )
)
SCOPE = '[browser.scope]\nallowed_domains = ["127.0.0.1:*"]\n'


class Web:
    """A run's actions in a browser."""

    def __init__(
        self,
        browser: str = "",
        scope: str = SCOPE,
        head: str = HEAD,
        commands: str = COMMANDS,
        live: str = "",
        now: Now = wall_time,
    ) -> None:
        browser = "startup_timeout_seconds = 60\n" + browser
        text = f"{head}[browser]\n{browser}\n{scope}{commands}"
        self.blobs = MemoryStore()
        manifest = parse_manifest(text, "w.clad.toml")
        self.executor = BrowserExecutor([manifest], blobs=self.blobs, live=live, now=now)
        self.tools = {tool.name: tool for tool in self.executor.tools}
        self.receipts: list[Receipt] = []

    async def call(self, action: str, **arguments: Any) -> Receipt:
        """Perform an action that its schema allows."""
        tool = self.tools[f"web.{action}"]
        assert not compile_schema(tool.input_schema).problems(arguments)
        self.receipts.append(await self.executor.execute(Call("r", "c", tool, arguments, "k")))
        return self.receipts[-1]

    async def do(self, action: str, **arguments: Any) -> dict[str, Any]:
        """Return an action's result as a model reads it."""
        read: dict[str, Any] = json.loads((await self.call(action, **arguments)).content)
        return read

    async def __aenter__(self) -> Web:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.executor.release("r")
