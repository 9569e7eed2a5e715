"""A person allows a call before it happens."""

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults

agent = Agent("openai-chat:gpt-4o", output_type=[str, DeferredToolRequests])


@agent.tool_plain(requires_approval=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is deleted."


result = agent.run_sync("Delete notes.txt.")
answers = DeferredToolResults()
for call in result.output.approvals:
    print(f"{call.tool_name} {call.args}")
    answers.approvals[call.tool_call_id] = True
history = result.all_messages()
print(agent.run_sync(message_history=history, deferred_tool_results=answers).output)
