"""Where to put an argument that a public function does not accept."""

from __future__ import annotations

from artificer.agent_definition import AgentFields
from artificer.config import Config
from artificer.contracts.capabilities import Capabilities
from artificer.contracts.model_settings import ModelSettings
from artificer.core.spec import Limits
from artificer.wiring.resources import WorldParts

HABITS = {
    "context": "deps",
    "dependencies": "deps",
    "functions": "tools",
    "instruction": "instructions",
    "max_iterations": "turns",
    "max_output_tokens": "max_tokens",
    "max_steps": "turns",
    "max_turns": "turns",
    "message_history": "history",
    "messages": "history",
    "model_settings": "settings",
    "output_schema": "output",
    "output_type": "output",
    "output_validator": "check",
    "reasoning_effort": "reasoning",
    "recursion_limit": "turns",
    "request_limit": "turns",
    "response_format": "output",
    "response_model": "output",
    "result_type": "output",
    "retries": "repairs",
    "state_modifier": "instructions",
    "stop_sequences": "stop",
    "system": "instructions",
    "system_prompt": "instructions",
    "toolsets": "tools",
    "usage_limits": "limits",
}
"""Names in other libraries, and the equivalents in Artificer."""

ADVICE = {
    "checkpointer": "Every run is recorded. To continue one: agent.follow_up(run_id, prompt).",
    "deps_type": "A tool says which dependencies it takes: def tool(context: RunContext[Deps], …).",
    "handoffs": "Pass the other agents as tools: tools=[agent.as_handoff(name, description)].",
    "hooks": "Follow the events of agent.stream(prompt), or pass observer=… to agent.run.",
    "input": "Pass it first: agent.run(prompt).",
    "input_guardrails": "Check the prompt before agent.run; policy=Policy(…) judges the calls.",
    "interrupt_before": "Have a rule ask: Policy(rules=[Rule(decision='ask', tool=…)]).",
    "mcp_servers": "Name the servers in artificer.toml: [mcp.servers.NAME].",
    "name": "A name is given where the agent becomes a tool: agent.as_tool(name, description).",
    "output_guardrails": "Pass check=…, a function that returns the output or raises ValueError.",
    "prompt": "Write instructions=…; what a user asks belongs to the run: agent.run(prompt).",
    "session": "A run is a conversation: agent.follow_up(run, prompt) continues it.",
    "stream": "Call agent.stream(prompt), or agent.stream_sync(prompt).",
    "thread_id": "A run is a conversation: agent.follow_up(run_id, prompt) continues it.",
    "top_k": "Pass what one provider takes as settings=ModelSettings(extra_body={'top_k': …}).",
}
"""The advice for an argument that has no other name."""

RUN = ("approver", "deps", "history", "observer", "run_id", "world")
"""The arguments that come with each prompt."""

PARTS: dict[str, type[ModelSettings | Limits | Capabilities]] = {
    "settings": ModelSettings,
    "limits": Limits,
    "capabilities": Capabilities,
}
"""The values that an agent is made of, by its field."""


def place_of(name: str, known: frozenset[str]) -> str | None:
    """Return where to put an argument that a function with these parameters does not accept."""
    meant = HABITS.get(name, name)
    if meant in known:
        return f"Write {meant}=…"
    agent = AgentFields.__annotations__
    taken = f"{meant}=…" if meant in agent else _in_a_part(meant)
    if taken and "instructions" in known:
        return f"It belongs to the agent's {taken.partition('=')[0]}: {taken}"
    if taken:
        return f"It belongs to the agent: Agent(…, {taken})"
    if name in ADVICE:
        return ADVICE[name]
    if meant in RUN:
        return f"It belongs to the run: agent.run(prompt, {meant}=…)"
    return _in_a_world(meant)


def _in_a_part(name: str) -> str | None:
    for field, kind in PARTS.items():
        if name in kind.field_names():
            return f"{field}={kind.__name__}({name}=…)"
    return None


def _in_a_world(name: str) -> str | None:
    if name in WorldParts.__annotations__:
        return f"It belongs to the world: World.open({name}=…)"
    if name in Config.field_names():
        return f"It is a setting: World.open(load_config({name}=…))"
    return None
