"""An agent that another agent calls; their usage is one sum."""

from pydantic_ai import Agent, RunContext

guide = Agent("openai-chat:gpt-4o", instructions="You know Bern.")
agent = Agent("openai-chat:gpt-4o")


@agent.tool
async def ask_guide(ctx: RunContext, prompt: str) -> str:
    """Ask a guide who knows Bern."""
    return (await guide.run(prompt, usage=ctx.usage)).output


result = agent.run_sync("What should I see in Bern?")
print(result.output, result.usage.output_tokens)
