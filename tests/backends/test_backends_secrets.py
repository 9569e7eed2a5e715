"""Secrets are found in every form that programs and models give them, and nothing else is."""

from __future__ import annotations

import base64
import codecs
import hashlib
import html
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from artificer.backends.command.output import keep_output
from artificer.backends.process.capture import PIECE_BYTES, Capture
from artificer.backends.secrets.names import WELL_KNOWN, WITH_PASSWORD, well_known
from artificer.backends.secrets.redaction import CleanBlobs, Redactor
from artificer.storage.blobs.memory import MemoryStore

SECRET = "sk-Ab12Cd34Ef56Gh78"
HARD = 'p/w+with "quotes" & <é>, 42'

ROOT = Path(__file__).parents[2]


def encoded(value: str) -> dict[str, str]:
    """A value in each form that the guide lists."""
    data = value.encode()
    pairs = [f"{byte:02x}" for byte in data]
    once = base64.b64encode(b"a " + data + b" b")
    units = value.encode("utf-16-be").hex()
    escapes = [f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)]
    return {
        "as it is": value,
        "percent": "".join(f"%{pair}" for pair in pairs),
        "PERCENT": "".join(f"%{pair.upper()}" for pair in pairs),
        "percent twice": "".join(f"%25{pair}" for pair in pairs),
        "html": "".join(f"&#{ord(c)};" for c in value),
        "html hex": "".join(f"&#x{ord(c):X};" for c in value),
        "json escapes": "".join(escapes),
        "json escapes, escaped": json.dumps("".join(escapes))[1:-1],
        "hex": data.hex(),
        "hex colons": ":".join(pairs),
        "HEX COLONS": ":".join(pairs).upper(),
        "hex spaces": " ".join(pairs),
        "hex C": "".join(f"\\x{pair}" for pair in pairs),
        "hex array": ", ".join(f"0x{pair}" for pair in pairs),
        "base64": once.decode(),
        "base64 url": base64.urlsafe_b64encode(b"." + data).decode(),
        "base64 twice": base64.b64encode(b"xy" + once + b"z").decode(),
        "base32": base64.b32encode(b"abc" + data).decode(),
        "base32 lower": base64.b32encode(b"a" + data).decode().lower(),
        "base85": base64.b85encode(b"ab" + data + b"cd").decode(),
        "ascii85": base64.a85encode(b"abcd" + data + b"cd").decode(),
        "rot13": codecs.encode(value, "rot13"),
        "spaced": " ".join(value),
        "dashed": "-".join(value),
        "lines": "\n".join(value),
        "characters": json.dumps(list(value))[1:-1],
        "upper": value.upper(),
        "lower": value.lower(),
        "reversed": value[::-1],
    }


@pytest.mark.req("secret-forms")
@pytest.mark.parametrize("value", [SECRET, HARD])
@pytest.mark.parametrize("form", list(encoded(SECRET)))
def test_a_secret_is_found_in_every_form_that_is_listed(value: str, form: str) -> None:
    text = f"before {encoded(value)[form]} after"
    cleaned = Redactor({"K": value}).clean(text)
    assert "[secret K]" in cleaned
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")
    assert Redactor({"K": value}).clean_bytes(text.encode() + b"\xff") != text.encode() + b"\xff"


@pytest.mark.req("secret-forms")
def test_one_that_is_escaped_in_part_is_found() -> None:
    redactor = Redactor({"K": HARD})
    for text in (quote(HARD), html.escape(HARD), json.dumps(HARD), json.dumps(json.dumps(HARD))):
        assert "[secret K]" in redactor.clean(text)


@pytest.mark.req("secret-forms")
@pytest.mark.parametrize("sign", list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ é—\u2028"))
def test_no_sign_in_a_secret_hides_it(sign: str) -> None:
    value = f"aB3{sign}xY9zzz"
    assert Redactor({"K": value}).clean(f"({value})") == "([secret K])"


@pytest.mark.req("secret-not-text")
def test_one_of_bytes_that_are_not_text_is_taken_out_too() -> None:
    """As an environment of Latin-1 holds it: "pässw0rd-42"."""
    data = b"p\xe4ssw0rd-42"
    redactor = Redactor({"ODD": os.fsdecode(data)})
    programs = [data.decode("utf-8", "replace"), quote(data), data.hex()]
    programs += [base64.b64encode(data).decode(), base64.b32encode(data).decode()]
    for text in programs:
        assert redactor.clean(f"It is {text}").startswith("It is [secret ODD]"), text
    assert redactor.clean_bytes(b"It is " + data + b"!") == b"It is [secret ODD]!"
    half = "half-a-pair-\ud800-42"
    assert half not in Redactor({"HALF": half}).clean(f"It is {half}!")


@pytest.mark.req("secret-forms")
@pytest.mark.parametrize("signs", ['"' * 40, "\\" * 20, '\\"/' * 15, "\n" * 40, "&%" * 20])
def test_a_text_of_escapes_is_read_once(signs: str) -> None:
    """A pattern that matched a text in two ways would try all combinations of them."""
    redactor = Redactor({"KEY": f"key{signs}"})
    once = json.dumps(signs)[1:-1]
    for text in (signs, once, json.dumps(once)[1:-1], quote(signs, safe="")):
        assert "[secret KEY]" in redactor.clean(f"<key{text}>")
        assert redactor.clean(f"key{text[: len(signs) // 2]}!").endswith("!")


@pytest.mark.req("secret-forms")
def test_what_only_looks_like_a_secret_stays() -> None:
    redactor = Redactor({"K": SECRET, "W": "correcthorse"})
    for text in (
        "CORRECTHORSE and c o r r e c t h o r s e",  # a word: it may stand anywhere
        SECRET[:-1],
        base64.b64encode(b"another text, long enough").decode(),
        "sk Ab12 Cd34 Ef56 Gh78",
    ):
        assert redactor.clean(text) == text


@pytest.mark.req("secret-names")
def test_well_known_variables_hold_secrets_and_settings_do_not() -> None:
    environment = {
        "GITHUB_TOKEN": "ghp_0123456789abcdef",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG",
        "AWS_SESSION_TOKEN": "IQoJb3JpZ2luX2VjE",
        "AWS_DEFAULT_OUTPUT": "json-lines-and-more",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "DATABASE_URL": "postgres://me:p%40ss-w0rd@db.example/x",
        "HTTPS_PROXY": "http://proxy.example:8080",
        "PGPASSWORD": "postgres",
        "NPM_TOKEN": "short",
        "EDITOR": "a-long-enough-editor-1",
    }
    assert well_known(environment) == {
        "GITHUB_TOKEN": "ghp_0123456789abcdef",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG",
        "AWS_SESSION_TOKEN": "IQoJb3JpZ2luX2VjE",
        "DATABASE_URL": "p@ss-w0rd",
    }


@pytest.mark.req("secret-names")
def test_the_guide_lists_every_variable() -> None:
    text = (ROOT / "docs" / "guides" / "secrets.md").read_text(encoding="utf-8")
    for name in (*WELL_KNOWN, *WITH_PASSWORD):
        assert f"`{name}`" in text, name


NOSY = """
import os
from pathlib import Path
from artificer.system.private_memory import keep_memory_private
keep_memory_private()
child = os.fork()
if child == 0:
    os.setuid(65534) if os.geteuid() == 0 else None
    try:
        Path(f"/proc/{os.getppid()}/environ").read_bytes()
        os._exit(3)
    except PermissionError:
        os._exit(0)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


CLOSE = "from artificer.system.private_memory import keep_memory_private\nkeep_memory_private()\n"
ASK = "import ctypes\nprint(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), flush=True)\n"


def printed(text: str, env: dict[str, str]) -> bytes:
    """Return the output of a Python program."""
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, check=True)
    return done.stdout.strip()


@pytest.mark.req("secret-memory")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl is Linux's")
def test_the_memory_of_the_runtime_is_closed_to_what_it_starts() -> None:
    env = {**os.environ}
    env.pop("ARTIFICER_DUMPABLE", None)
    for given, dumpable in (({}, b"0"), ({"ARTIFICER_DUMPABLE": "1"}, b"1")):
        assert printed(CLOSE + ASK, {**env, **given}) == dumpable
    child = f"{CLOSE}import subprocess, sys\nsubprocess.run([sys.executable, '-c', {ASK!r}])"
    assert printed(child, env) == b"1", "a program of a tool is an ordinary process"
    assert subprocess.run([sys.executable, "-c", NOSY], env=env, check=False).returncode == 0


@pytest.mark.req("secret-forms")
def test_a_key_of_several_lines_is_taken_out_line_by_line() -> None:
    """A text may hold some of its lines, or indent them; what frames them is no secret."""
    lines = [hashlib.sha256(bytes([n])).hexdigest() for n in range(8)]
    key = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    clean = Redactor({"k": key}).clean
    assert clean(f"x {key} y") == "x [secret k] y"
    assert clean(f"key: |\n  {lines[0]}\n  {lines[1]}\n") == "key: |\n  [secret k]\n  [secret k]\n"
    assert clean("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"
    assert clean(f"id {lines[0][:39]}") == f"id {lines[0][:39]}"


@pytest.mark.req("secret-forms")
def test_a_very_long_value_is_taken_out_too() -> None:
    """As a whole in its forms, and its long words; its pattern would take half a minute."""
    words = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(900)]
    value = json.dumps({"keys": words, "type": "service_account"})
    assert len(value) > 60_000
    clean = Redactor({"k": value}).clean
    for form in (value, json.dumps(value)[1:-1], value.encode().hex(), quote(value, safe="")):
        assert words[450] not in clean(f"x {form} y")
    assert clean(value) == "[secret k]"
    assert clean("a service_account") == "a service_account"


@pytest.mark.req("secret-pieces")
@pytest.mark.parametrize("size", [1, 7, len(SECRET) + 1])
def test_a_secret_that_stands_in_several_pieces_is_found(size: int) -> None:
    data = f"a {SECRET} b {SECRET}".encode()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    redactor = Redactor({"T": SECRET})
    assert b"".join(redactor.clean_pieces(pieces, whole=True)) == b"a [secret T] b [secret T]"
    cut = b"".join(redactor.clean_pieces([*pieces[:-1], pieces[-1][:-1]], whole=False))
    assert SECRET[:5].encode() not in cut, "the beginning of a secret is left out"
    assert list(Redactor({}).clean_pieces(pieces, whole=True)) == pieces
    assert list(redactor.clean_pieces([], whole=True)) == []


@pytest.mark.req("secret-pieces")
def test_a_kept_output_holds_no_secret_at_the_border_of_its_pieces(tmp_path: Path) -> None:
    """Neither one of the call nor one of the process, which two stores take out."""
    ours, theirs = SECRET, "tk-Zz98Yy76Xx54Ww32"
    store = MemoryStore()
    blobs = CleanBlobs(CleanBlobs(store, Redactor({"O": ours})), Redactor({"T": theirs}))
    with Capture(tmp_path) as stdout:
        for text in (ours, theirs):
            stdout.take(b"x" * (PIECE_BYTES - len(text) // 2) + text.encode())
            stdout.take(b"y" * (PIECE_BYTES - stdout.size % PIECE_BYTES))
        digests = keep_output(stdout, blobs)
    kept = b"".join(map(store.get, digests))
    assert (kept.count(b"[secret O]"), kept.count(b"[secret T]")) == (1, 1)
    assert ours.encode() not in kept and theirs.encode() not in kept
    assert all(len(store.get(digest)) <= 2 * PIECE_BYTES for digest in digests)
