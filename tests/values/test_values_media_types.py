"""Media types of hostile bytes: wrong signatures, false sizes, two types in one, odd names."""

from __future__ import annotations

import struct

import pytest

from artificer.errors import AuthorError
from artificer.ports.attachment import (
    MAX_BYTES,
    MAX_NAME,
    Audio,
    File,
    Image,
    attachment_of,
    block_of,
    checked,
    clean_name,
)
from artificer.values.media_types import BINARY, pixels_of, sniffed
from pictures import GIF, JPEG, MP3, PDF, SVG, WAV, WEBP, chunk, png

KINDS = [
    (png(), "image/png", Image),
    (JPEG, "image/jpeg", Image),
    (GIF, "image/gif", Image),
    (WEBP, "image/webp", Image),
    (WAV, "audio/wav", Audio),
    (MP3, "audio/mpeg", Audio),
    (b"\xff\xfb\x90\x00" + bytes(413), "audio/mpeg", Audio),
    (b"OggS\0" + bytes(30), "audio/ogg", Audio),
    (b"fLaC" + bytes(30), "audio/flac", Audio),
    (PDF, "application/pdf", File),
    (SVG, "text/plain", File),
    (b"Hello, \xc3\xa4.\n", "text/plain", File),
    (b"MZ\x90\0\x03", BINARY, File),
    (b"PK\x03\x04\x14\0\0\0", BINARY, File),
]


@pytest.mark.req("attachment-types")
class TestTypes:
    @pytest.mark.parametrize(("data", "media_type", "kind"), KINDS)
    def test_each_type_is_found(self, data: bytes, media_type: str, kind: type) -> None:
        assert sniffed(data) == media_type
        made = attachment_of(data)
        assert (type(made), made.media_type) == (kind, media_type)
        assert checked(made) == made

    @pytest.mark.parametrize("claim", ["image/png", "image/jpeg", "audio/wav", "application/pdf"])
    @pytest.mark.parametrize(("data", "media_type", "kind"), KINDS)
    def test_a_false_claim_is_refused(
        self, data: bytes, media_type: str, kind: type, claim: str
    ) -> None:
        if claim != media_type:
            with pytest.raises(AuthorError, match=f"claimed to be {claim}"):
                attachment_of(data, claim)

    def test_usual_names_of_a_type_are_the_same(self) -> None:
        assert Image.from_bytes(JPEG, "image/jpg; q=1").media_type == "image/jpeg"
        assert Audio.from_bytes(WAV, "Audio/X-WAV").media_type == "audio/wav"

    def test_texts_and_unknown_bytes_may_be_what_they_claim(self) -> None:
        assert File.from_bytes(b"{}", "application/json").media_type == "application/json"
        office = "application/vnd.ms-excel"
        assert File.from_bytes(b"PK\x03\x04\0", office).media_type == office
        with pytest.raises(AuthorError, match="claimed to be text/csv"):
            File.from_bytes(b"\0\1\2", "text/csv")

    def test_a_kind_refuses_the_others(self) -> None:
        with pytest.raises(AuthorError) as error:
            File.from_bytes(png())
        assert error.value.hint == "Use Image."
        with pytest.raises(AuthorError) as error:
            Image.from_bytes(WAV)
        assert error.value.hint == "Use Audio."

    def test_one_made_without_a_check_is_checked_when_it_is_used(self) -> None:
        with pytest.raises(AuthorError):
            checked(Image(data=SVG, media_type="image/png"))

    def test_nothing_and_too_much_are_refused(self) -> None:
        for data in (b"", bytes(MAX_BYTES + 1)):
            with pytest.raises(AuthorError, match="bytes"):
                File.from_bytes(data)


@pytest.mark.req("attachment-types")
class TestImages:
    @pytest.mark.parametrize("data", [png(7, 5), JPEG, GIF, WEBP])
    def test_a_cut_one_is_refused_or_has_its_size(self, data: bytes) -> None:
        media_type = sniffed(data)
        assert pixels_of(data, media_type) is not None
        for end in range(12, len(data) - 1):
            assert pixels_of(data[:end], media_type) is None or end > 25

    @pytest.mark.parametrize("claims", [(0, 2), (100_000, 1), (16_000, 16_000), (2**31, 2**31)])
    def test_a_size_that_fills_a_memory_is_refused(self, claims: tuple[int, int]) -> None:
        with pytest.raises(AuthorError, match=r"pixels|whole"):
            Image.from_bytes(png(claims=claims))

    def test_a_changed_header_is_refused(self) -> None:
        data = bytearray(png())
        data[18] ^= 1
        with pytest.raises(AuthorError, match="not a whole image/png"):
            Image.from_bytes(bytes(data))

    def test_a_script_that_begins_as_an_image_is_refused(self) -> None:
        for script in (b"GIF89a/*" + b"*/=alert(1);", b"\xff\xd8\xff\xe0/*" + b"*/=alert(1);"):
            with pytest.raises(AuthorError, match="not a whole"):
                Image.from_bytes(script)

    def test_what_follows_an_image_does_not_change_its_type(self) -> None:
        assert Image.from_bytes(png() + SVG).media_type == "image/png"
        assert attachment_of(b"GIF" + PDF).media_type == "text/plain"

    def test_chunks_that_lead_beyond_the_end_are_refused(self) -> None:
        head = png()[:33]
        endless = head + struct.pack(">I", 2**32 - 1) + b"IDAT"
        for data in (endless, head, head + chunk(b"IDAT", b"")):
            with pytest.raises(AuthorError):
                Image.from_bytes(data)

    def test_tokens_follow_the_size(self) -> None:
        small, large = (block_of(Image.from_bytes(png(n, n))) for n in (3, 1_000))
        assert small.tokens < large.tokens == 100 + 1_334


@pytest.mark.req("attachment-names")
@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("cat.png", "cat.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\cat.png", "cat.png"),
        ("/", ""),
        ("..", ".."),
        ("a\0b\x1b[31m\n.png", "a_b_[31m_.png"),
        ("gnp.\u202etac.exe", "gnp._tac.exe"),
        ("\ud800.png", "\ufffd.png"),
        ("x" * 300, "x" * (MAX_NAME - 1) + "…"),
    ],
)
def test_a_name_is_the_last_part_of_a_path_and_readable(name: str, kept: str) -> None:
    assert clean_name(name) == kept
    assert File.from_bytes(b"text", name=name).name == kept
