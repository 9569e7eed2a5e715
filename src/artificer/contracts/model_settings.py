"""Settings of model requests: as people write them, and as a run records them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Literal

from artificer.contracts.secret_references import references_in
from artificer.values.base import (
    CheckedValue,
    Count,
    JsonObject,
    JsonValue,
    Meta,
    NaturalNumber,
    field,
)
from artificer.values.canon import canonical
from artificer.values.model import ToolChoice

Effort = Literal["low", "medium", "high"]
Decimal = Annotated[str, Meta(pattern=r"^\d{1,3}(\.\d{1,6})?\Z")]

DECIMALS = 6

_OURS = frozenset({"input", "max_output_tokens", "messages", "model", "stream", "tools"})
"""Members of a request that the runtime sets."""

_CREDENTIALS = ("authorization", "cookie", "key", "secret", "token")
"""Parts of the names of headers that hold a credential."""


class RequestSettings(CheckedValue):
    """The settings of one request, as a run records them.

    Numbers with decimals are text, ``headers`` and ``body`` canonical JSON. A header holds the
    reference to a secret, never the secret.
    """

    temperature: Decimal | None = None
    top_p: Decimal | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    max_tokens: Count | None = None
    reasoning: Effort | Count | None = None
    service_tier: str = ""
    headers: str = ""
    body: str = ""

    @property
    def extra_headers(self) -> dict[str, str]:
        """The headers, with references to secrets."""
        return json.loads(self.headers) if self.headers else {}

    @property
    def extra_body(self) -> JsonObject:
        """The further members of the request's body."""
        return json.loads(self.body) if self.body else {}

    def without_extra(self, name: str) -> RequestSettings:
        """Return the settings without a member of the body."""
        return self.replace(body=_text({k: v for k, v in self.extra_body.items() if k != name}))

    @property
    def named(self) -> frozenset[str]:
        """The names of the settings that differ from the default, as people write them."""
        names = {"headers": "extra_headers", "body": "extra_body"}
        return frozenset(names.get(name, name) for name in self.to_json(defaults=False))


class ModelKeys(CheckedValue):
    """The settings of a model's requests: ``[models."provider/model"]`` in ``artificer.toml``.

    ``reasoning`` is an effort or a number of tokens. ``extra_headers`` refer to a secret as
    ``{_secret:name}``. ``extra_body`` are members of the request that only this server knows; they
    are merged into it last.
    """

    temperature: Annotated[float, Meta(ge=0)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    stop: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    seed: NaturalNumber | None = None
    max_tokens: Count | None = None
    reasoning: Effort | Count | None = None
    service_tier: str = ""
    extra_headers: Mapping[str, str] = field(default_factory=dict)
    extra_body: Mapping[str, JsonValue] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse numbers that have no short decimal, written-out credentials, and our members."""
        for name, value in (("temperature", self.temperature), ("top_p", self.top_p)):
            if value is not None and not _is_short(value):
                raise self.invalid(
                    f"/{name}", f"is {value!r}; use a number from 0 to 2 with at most six decimals"
                )
        for name, text in self.extra_headers.items():
            if any(part in name.lower() for part in _CREDENTIALS) and not references_in(text):
                raise self.invalid(
                    f"/extra_headers/{name}",
                    "holds a credential; refer to it as {_secret:name} and set ARTIFICER_SECRET_…",
                )
        if taken := sorted(_OURS & self.extra_body.keys()):
            raise self.invalid(f"/extra_body/{taken[0]}", "is a member that the runtime sets")

    def over(self, others: ModelKeys) -> ModelKeys:
        """Return these settings, completed by others."""
        own = {name: getattr(self, name) for name in _KEYS if _is_set(getattr(self, name))}
        return ModelKeys(**{name: getattr(others, name) for name in _KEYS} | own)

    @property
    def recorded(self) -> RequestSettings:
        """The settings as a run records them."""
        return RequestSettings(
            temperature=_decimal(self.temperature),
            top_p=_decimal(self.top_p),
            stop=self.stop,
            seed=self.seed,
            max_tokens=self.max_tokens,
            reasoning=self.reasoning,
            service_tier=self.service_tier,
            headers=_text(self.extra_headers),
            body=_text(self.extra_body),
        )


class ModelSettings(ModelKeys):
    """The settings of an agent's requests, for all turns or for one of them.

    ``tool_choice`` is one choice, or one for each turn, of which the last stays in force. The other
    settings are described at :class:`ModelKeys`; what is not set here is as configured.

    Raises:
        InvalidValueError: a setting has a wrong type or is out of its range.
    """

    tool_choice: ToolChoice | tuple[ToolChoice, ...] | None = None

    @property
    def choices(self) -> tuple[ToolChoice, ...]:
        """The tool choices, turn by turn."""
        if isinstance(self.tool_choice, ToolChoice):
            return (self.tool_choice,)
        return self.tool_choice or (ToolChoice(),)


_KEYS = ModelKeys.field_names()


def _is_short(value: float) -> bool:
    return math.isfinite(value) and value < 1000 and round(value, DECIMALS) == value


def _is_set(value: object) -> bool:
    return value is not None and value not in ((), "", {})


def _decimal(value: float | None) -> str | None:
    """A number as text: a journal holds no floats."""
    if value is None:
        return None
    return f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")


def _text(members: Mapping[str, JsonValue]) -> str:
    return canonical(dict(members)).decode() if members else ""
