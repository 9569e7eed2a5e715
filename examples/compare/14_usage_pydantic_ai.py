"""Tokens and dollars."""

from pydantic_ai import Agent

result = Agent("openai-chat:gpt-4o").run_sync("Why is the sky blue?")
print(result.usage.input_tokens, result.usage.output_tokens, f"${result.usage.cost:.6f}")
