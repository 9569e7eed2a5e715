"""Helpers for tests: a model that plays a script, and conformance suites for every port.

>>> agent = Agent(ScriptedProvider([reply(call("add", a=1, b=2)), "3"]), tools=[add])
"""

from artificer.providers.scripted import ScriptedProvider, call, reply, say

__all__ = ["ScriptedProvider", "call", "reply", "say"]
