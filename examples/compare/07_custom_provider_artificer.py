"""A model of your own: here, one that shouts."""

from artificer import Agent, ScriptedProvider


async def shout(body):
    return body["messages"][-1]["blocks"][0]["text"].upper()


agent = Agent(ScriptedProvider(shout), kind="chat")
print(agent.run_sync("Hello.").text)
