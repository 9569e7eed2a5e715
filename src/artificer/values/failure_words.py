"""Why there is no reply, in words."""

from __future__ import annotations

from artificer.values.model import FailureCode

FAILURES: dict[FailureCode, str] = {
    "auth": "the API key is missing, or the provider refused it",
    "bad_request": "the provider refused the request",
    "budget": "the budget is used up",
    "context_overflow": "the conversation no longer fits into the model's context",
    "cost_limit": "the run and its children may cost no more",
    "invalid_call": "the provider refused the model's tool call",
    "malformed_response": "the model's reply could not be read",
    "max_tokens": "the model cannot write replies as long as max_tokens",
    "not_found": "the provider does not know this model",
    "out_of_time": "the run reached its time limit before the reply",
    "overloaded": "the provider is overloaded",
    "rate_limited": "the provider's rate limit or quota is used up",
    "stream_truncated": "the connection broke during the reply",
    "timeout": "the model did not answer in time",
    "token_limit": "the run and its children may use no more tokens",
    "unavailable": "the model could not be reached",
}
