"""A person allows a call before it happens."""

from artificer import Agent, tool


@tool(human_approval=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is deleted."


agent = Agent("openai-chat/gpt-4o", tools=[delete], kind="chat")
run = agent.run_sync("Delete notes.txt.")
for question in run.questions:
    print(f"{question.tool} {question.arguments}")
print(agent.approve_sync(run).text)
