"""The parts of JSON Schema that the strict modes of providers can express.

Sources: OpenAI, "Structured Outputs: supported schemas"; Anthropic, "Structured outputs: JSON
Schema limitations".
"""

from __future__ import annotations

from msgspec import Struct


class StrictDialect(Struct, frozen=True):
    """The parts of JSON Schema that one provider's strict mode can express.

    ``keywords`` are the assertions that stay in the schema, besides the structural ones.
    ``all_required`` demands that every property is required: optional ones become nullable.
    ``max_optional`` bounds optional properties, ``max_tools`` strict tools, of one request.
    """

    keywords: frozenset[str]
    formats: frozenset[str]
    all_required: bool
    max_depth: int
    max_optional: int
    max_tools: int


_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)

OPENAI_STRICT = StrictDialect(
    keywords=frozenset(
        {
            "pattern",
            "multipleOf",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "minItems",
            "maxItems",
        }
    ),
    formats=_FORMATS,
    all_required=True,
    max_depth=10,
    max_optional=0,
    max_tools=128,
)

ANTHROPIC_STRICT = StrictDialect(
    keywords=frozenset(),
    formats=_FORMATS | {"uri"},
    all_required=False,
    max_depth=10,
    max_optional=24,
    max_tools=20,
)
