"""Tokens and dollars."""

from artificer import Agent

run = Agent("openai-chat/gpt-4o", kind="chat").run_sync("Why is the sky blue?")
print(run.usage.input_tokens, run.usage.output_tokens, f"${run.cost:.6f}")
