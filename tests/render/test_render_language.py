"""The language of a page follows from its words, and the page speaks it."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from render_page import parse
from render_sample import NARRATIVE, report

from artificer.artifacts.deliverable import Deliverable
from artificer.artifacts.value import CitedValue
from artificer.render.html import to_html
from artificer.render.language import _catalogue, language, language_of
from artificer.render.markdown import to_markdown
from artificer.render.report import Report

SAMPLES = {
    "en": NARRATIVE,
    "de": "Der Umsatz ist im letzten Jahr gestiegen, und die Kosten sind nicht mit ihm gewachsen.",
    "fr": "Les ventes ont augmenté dans toutes les régions, et la marge est plus élevée que prévu.",
    "es": "Las ventas de la tienda subieron en todas las regiones y el margen es más alto.",
    "it": "Il fatturato della società è cresciuto, e i costi non sono più quelli di una volta.",
    "ar": "ارتفعت المبيعات في القاهرة خلال هذا العام، وانخفضت التكاليف في جميع المناطق.",
    "he": "המכירות עלו השנה בכל האזורים, והעלויות ירדו.",
    "zh": "今年各地区的销售额都有所增长，成本有所下降。API 的延迟也降低了。",
    "ja": "今年の売上はすべての地域で増加し、コストは減少しました。",
    "ru": "Продажи выросли во всех регионах, а затраты снизились.",
}


@pytest.mark.req("html-language")
@pytest.mark.parametrize("tag", SAMPLES)
def test_a_page_says_its_language_and_its_direction(tag: str) -> None:
    page = parse(to_html(report(SAMPLES[tag], []))).one("html")
    direction = "rtl" if tag in ("ar", "he") else "ltr"
    assert (page.attributes["lang"], page.attributes["dir"]) == (tag, direction)


@pytest.mark.req("html-language")
def test_the_page_speaks_the_language_of_its_words() -> None:
    pie = ("create_pie_chart", {"id": "x", "segments": [{"label": "a", "value": 1}]})
    made = report(SAMPLES["de"] + "\n\nSiehe {{artifact:chart:x}}.", [pie], status="partial")
    text = parse(to_html(made)).one("body").text
    for words in ("Abbildung 1", "Daten", "Als CSV speichern", "unvollständig", "Prüfsumme"):
        assert words in text
    page = parse(to_html(report(SAMPLES["ja"], [])))
    assert page.one("footer").attributes["lang"] == "en", "what is English says so"


@pytest.mark.req("html-language")
def test_every_language_has_every_word_with_the_same_places() -> None:
    english = _catalogue()["en"]
    for tag, words in _catalogue().items():
        assert words.keys() == english.keys(), tag
        for name, word in words.items():
            assert sorted(re.findall(r"\{.\}", word)) == sorted(re.findall(r"\{.\}", english[name]))


@pytest.mark.req("html-language")
@given(st.text(max_size=200))
def test_any_text_has_a_language(text: str) -> None:
    assert language_of(text) == language_of(text)
    empty = Deliverable(status="completed", narrative="")
    assert Report("", empty, {}, report().provenance).language == language("en")


BARS = (
    "create_bar_chart",
    {
        "id": "x",
        "labels": ["Bonn", "Köln"],
        "unit": "€",
        "series": [{"name": "Umsatz", "values": [12500.5, 1e-9]}],
    },
)
ROWS = {"kind": "table", "id": "t", "columns": ["a", "b"], "rows": [[12500.5, True], [1e-9, False]]}


@pytest.mark.req("html-number-forms")
def test_numbers_and_descriptions_are_in_the_language_of_the_page() -> None:
    narrative = SAMPLES["de"] + "\n\n{{artifact:chart:x}}\n\n{{artifact:table:t}}"
    made = report(narrative, [BARS, ("create_table", {"table": ROWS})], status="partial")
    page = parse(to_html(made))
    figure = page.one("figure").text
    assert "Balkendiagramm: 2 Kategorien. Höchster Wert: 12.500,5 (Bonn)" in figure
    assert "Kategorie" in figure and "Bonn: 12.500,5\u202f€" in figure
    table = page.all("table")[-1].text
    assert "12.500,5" in table and "1e-9" in table and "ja" in table
    text = to_markdown(made)
    for words in ("12.500,5", "1e-9", "| Kategorie |", "> **Dieser Bericht ist unvollständig.**"):
        assert words in text
    assert "12500.5" in unquote(page.one("figure").one("a").attributes["href"]), "a file is plain"


@pytest.mark.req("html-number-forms")
@pytest.mark.parametrize(
    ("value", "english", "french"),
    [
        (12500.5, "12,500.5", "12\u202f500,5"),
        (9999, "9999", "9999"),
        (-0.25, "-0.25", "-0,25"),
        (1e-9, "1e-9", "1e-9"),
        (1.5e-7, "1.5e-7", "1,5e-7"),
        (1e15, "1,000,000,000,000,000", "1\u202f000\u202f000\u202f000\u202f000\u202f000"),
        (1e21, "1e21", "1e21"),
        (0.00001, "0.00001", "0,00001"),
    ],
)
def test_a_number_has_one_form_in_each_language(value: float, english: str, french: str) -> None:
    assert language("en").numbers.figure(value) == english
    assert language("fr").numbers.figure(value) == french


@pytest.mark.req("html-number-forms")
def test_a_cited_value_has_the_signs_of_the_page() -> None:
    shown = {"value": "1234567.5", "shown": "1,234,567.5 kg"}
    values = {
        ("value", "n"): CitedValue(id="n", **shown),
        ("value", "v"): CitedValue(id="v", value="v1.2", shown="v1.2"),
    }
    narrative = SAMPLES["de"] + " {{artifact:value:n}} und {{artifact:value:v}}"
    delivered = Deliverable(status="completed", narrative=narrative)
    text = to_markdown(Report("", delivered, values, report().provenance))
    assert "1.234.567,5 kg und v1.2" in text
