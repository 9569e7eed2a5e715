"""Values: equal by content, strict about what they are read from, written in one way."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from artificer.core.policy import Condition, Policy, Rule
from artificer.core.spec import Limits, RunSpec
from artificer.core.state import RunState
from artificer.errors import InvalidValueError
from artificer.ports import Image
from artificer.values.base import CheckedValue, Digest, Meta, Problem, Text, Value, ValueReader
from artificer.values.blocks import Message, TextBlock, ToolUseBlock, user
from artificer.values.canon import canonical
from artificer.values.lean import FIRST_USES, LeanByClass
from artificer.values.message_history import MessageHistory
from artificer.values.model import Usage

USAGES = st.builds(Usage, input_tokens=st.integers(0, 2), output_tokens=st.integers(0, 2))
CHANGES = st.dictionaries(
    st.sampled_from(["input_tokens", "cached_tokens"]), st.integers(0, 2), max_size=2
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant"]),
    blocks=st.lists(
        st.builds(TextBlock, text=TEXTS)
        | st.builds(ToolUseBlock, id=TEXTS, name=TEXTS, arguments=TEXTS),
        max_size=3,
    ).map(tuple),
)


class Leaf(Value):
    """A value within another one."""

    digest: Digest | None = None
    names: tuple[Text, ...] = ()


class Tree(Value):
    """A value with others in it."""

    leaf: Leaf = Leaf()
    leaves: tuple[Leaf, ...] = ()
    free: dict[str, Any] | None = None
    number: Annotated[int, Meta(ge=1)] = 1


class _Shape(Value, tag_field="kind"):
    at: int


class Round(_Shape):
    """A kind of shape."""

    kind: ClassVar[Literal["round"]] = "round"
    label: Text = ""


class Square(_Shape):
    """Another kind."""

    kind: ClassVar[Literal["square"]] = "square"


class Named(CheckedValue):
    """A value that somebody else makes."""

    name: Annotated[str, Meta(min_length=1)]
    parts: tuple[str, ...] = ()


@pytest.mark.req("value-equality")
class TestValues:
    @given(USAGES, CHANGES)
    def test_a_copy_differs_in_the_changes_alone(
        self, usage: Usage, changes: dict[str, int]
    ) -> None:
        before = usage.to_json()
        assert usage.replace(**changes).to_json() == before | changes
        assert usage.to_json() == before

    @given(USAGES, USAGES)
    def test_values_are_equal_by_content(self, a: Usage, b: Usage) -> None:
        assert (a == b) is (a.canonical() == b.canonical()) is not (a != b)
        assert a != b or hash(a) == hash(b)

    def test_another_kind_of_value_is_never_equal(self) -> None:
        class Other(Usage):
            pass

        assert Usage() != Other() and Usage() != 0

    def test_a_value_cannot_be_changed(self) -> None:
        with pytest.raises(AttributeError):
            Usage().input_tokens = 1  # type: ignore[misc]


@pytest.mark.req("value-one-writer")
class TestWriting:
    @given(MESSAGES)
    def test_bytes_are_those_of_the_reference_library(self, message: Message) -> None:
        assert message.canonical() == rfc8785.dumps(message.to_json())
        assert Message.read(message.canonical()) == message

    @given(MESSAGES)
    def test_an_identity_lacks_defaults_and_tags_alone(self, message: Message) -> None:
        lean = {
            "role": message.role,
            "blocks": [
                {name: member for name, member in block.items() if name != "type"}
                for block in message.to_json()["blocks"]
            ],
        }
        assert message.identity() == rfc8785.dumps(lean)
        assert Message.from_json(message.to_json()) == message

    def test_a_default_within_a_value_is_left_out_too(self) -> None:
        tree = Tree(leaf=Leaf(names=("a",)), leaves=(Leaf(), Leaf(names=("b",))), free={"n": None})
        kept = b'{"free":{"n":null},"leaf":{"names":["a"]},"leaves":[{},{"names":["b"]}]}'
        for _ in range(FIRST_USES + 1):
            assert tree.identity() == kept
            assert Tree(leaf=Leaf(names=())).identity() == b"{}"

    def test_a_function_that_is_written_after_some_uses_does_what_the_first_one_did(self) -> None:
        part = LeanByClass(without=frozenset({"free", "leaves"}))
        tree = Tree(leaf=Leaf(names=("a",)), leaves=(Leaf(),), free={"n": None})
        first = part[Tree]
        for _ in range(FIRST_USES):
            assert part[Tree] is first
            assert canonical(part[Tree](tree)) == b'{"leaf":{"names":["a"]}}'
        assert part[Tree] is not first
        assert canonical(part[Tree](tree)) == b'{"leaf":{"names":["a"]}}'

    def test_lone_surrogates_never_get_into_a_text(self) -> None:
        assert Leaf(names=("a\ud800", "b")).names == ("a\ufffd", "b")
        assert Round(at=1, label="\udc80").label == "\ufffd"
        assert Round(at=1).replace(label="ü\udc80").label == "ü\ufffd"


@pytest.mark.req("value-strict-reader")
class TestReading:
    @pytest.mark.parametrize(
        ("text", "pointer", "reason"),
        [
            ("[]", "", "must be an object, not a list"),
            ('{"number":1.0}', "/number", "must be an integer, not a number"),
            ('{"number":true}', "/number", "must be an integer, not a boolean"),
            ('{"number":0}', "/number", "must be an integer >= 1"),
            ('{"leaves":[{},{"names":[1]}]}', "/leaves/1/names/0", "must be a string"),
            ('{"leaf":{"digest":"sha256:12"}}', "/leaf/digest", "must be a string matching"),
            ('{"leaf":{"other":1}}', "/leaf", "has a member that is not known: other"),
            ('{"free":{"a":"\\ud800"}}', "", "cannot be read"),
            ("{", "", "cannot be read"),
            ("{}{}", "", "cannot be read"),
            ('{"free":' + '{"a":' * 9999 + "1" + "}" * 9999 + "}", "", "is nested too deeply"),
        ],
    )
    def test_a_fault_is_named_with_its_place(self, text: str, pointer: str, reason: str) -> None:
        with pytest.raises(InvalidValueError) as caught:
            Tree.read(text)
        assert caught.value.pointer == pointer and caught.value.reason.startswith(reason)

    def test_a_digest_ends_where_it_ends(self) -> None:
        digest = "sha256:" + "0" * 64
        assert Leaf.from_json({"digest": digest}).digest == digest
        for wrong in (digest + "\n", digest.upper(), digest[:-1]):
            with pytest.raises(InvalidValueError):
                Leaf.from_json({"digest": wrong})

    def test_kinds_are_told_apart_by_their_tag(self) -> None:
        shapes: ValueReader[Round | Square] = ValueReader(Round | Square, "the shape")
        assert shapes.read('{"kind":"square","at":1}') == Square(at=1)
        assert Round(at=2).to_json() == {"kind": "round", "at": 2, "label": ""}
        for wrong in ('{"at":1}', '{"kind":"flat","at":1}', '{"kind":"square","label":"","at":1}'):
            with pytest.raises(InvalidValueError, match=r"^the shape"):
                shapes.read(wrong)

    def test_the_reason_repeats_nothing_of_the_value(self) -> None:
        with pytest.raises(InvalidValueError) as caught:
            ValueReader(Round | Square, "the shape").read('{"kind":"hunter2","at":1}')
        assert "hunter2" not in str(caught.value)

    def test_a_value_of_wrong_fields_is_found(self) -> None:
        assert Tree(number=2).verified() == Tree(number=2)
        with pytest.raises(InvalidValueError, match=r"/leaf/names/0 must be a string"):
            Tree(leaf=Leaf(names=(1,))).verified()  # type: ignore[arg-type]


@pytest.mark.req("value-declared")
class TestDeclared:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Named(name=""), r"Named: /name must be a string of length >= 1\."),
            (lambda: Named(name=None), r"Named: /name must be a string, not null\."),
            (lambda: Named(name="a", parts=("b", 1)), r"Named: /parts/1 must be a string"),
            (lambda: Limits(turns=0), r"Limits: /turns must be an integer >= 1\."),
            (lambda: Rule(decision="maybe"), r"Rule: /decision is none of the values"),
            (lambda: Policy(rules=("x",)), r"Policy: /rules/0 must be an object"),
            (lambda: Rule(tool="a"), r"Rule lacks 'decision'\."),
            (lambda: Named(), r"Named lacks 'name'\."),
            (lambda: Condition(at="/a"), r"Condition says nothing: give equals"),
        ],
    )
    def test_every_field_is_checked_when_it_is_made(self, make: Any, message: str) -> None:
        with pytest.raises(InvalidValueError, match=message):
            make()

    @pytest.mark.parametrize(
        ("make", "hint"),
        [
            (lambda: Rule(decision="maybe"), "Known: allow, deny, ask."),
            (lambda: Rule(decision="ask", risk=("low", "hihg")), "Did you mean 'high'?"),
            (lambda: Limits(max_turns=3), "Did you mean 'turns'?"),
            (lambda: Image(), "Image.from_path"),
        ],
    )
    def test_a_text_that_is_not_allowed_is_answered_with_those_that_are(
        self, make: Any, hint: str
    ) -> None:
        with pytest.raises(InvalidValueError) as raised:
            make()
        assert hint in (raised.value.hint or "")

    def test_a_list_is_taken_for_a_tuple(self) -> None:
        assert Named(name="a", parts=["b"]).parts == ("b",)  # type: ignore[arg-type]

    def test_a_fault_within_is_found_when_it_is_read(self) -> None:
        with pytest.raises(InvalidValueError, match=r"Condition says nothing"):
            Policy.read('{"rules":[{"decision":"ask","arguments":[{"at":"/a"}]}]}')

    def test_limits_know_which_of_them_were_set(self) -> None:
        assert Limits(total_tokens=None, turns=15).named == {"total_tokens", "turns"}
        assert "turns" in Limits.read("{}").named

    def test_a_temperature_is_a_decimal(self) -> None:
        with pytest.raises(InvalidValueError, match="/temperature"):
            RunSpec(kind="chat", prompt="", provider="p", model="m", toolset="", temperature="hot")


@pytest.mark.req("value-one-writer")
def test_floats_of_a_problem_become_text() -> None:
    assert Problem(pointer="", message="", limit=(0.5, 1)).limit == ("0.5", 1)  # type: ignore[arg-type]


@pytest.mark.req("value-conversation")
class TestConversation:
    @given(st.lists(st.integers(0, 3), max_size=30))
    def test_is_the_tuple_of_its_messages_whoever_extends_it(self, steps: list[int]) -> None:
        grown = [(MessageHistory(), ())]
        for number, back in enumerate(steps):
            conversation, messages = grown[max(0, len(grown) - 1 - back)]
            message = user(str(number))
            grown.append((conversation.extended(message), (*messages, message)))
        for conversation, messages in grown:
            assert tuple(conversation) == messages and conversation == MessageHistory(messages)
            assert conversation[-2:] == messages[-2:] and conversation[1:3] == messages[1:3]
            assert len(conversation) == len(messages) and hash(conversation) == hash(
                MessageHistory(messages)
            )
            assert not messages or conversation[-1] is messages[-1]
            with pytest.raises(IndexError):
                conversation[len(messages)]

    def test_a_state_is_written_and_read_with_it(self) -> None:
        state = RunState(history=MessageHistory().extended(user("Hi.")))
        assert RunState.read(state.canonical()) == state
        assert state.to_json()["history"] == [user("Hi.").to_json()]
