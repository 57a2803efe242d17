import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain.transparency import checkpoint
from domain.transparency.checkpoint import Checkpoint, NoteError, VerifierKey

# The example of golang.org/x/mod/sumdb/note, which C2SP signed-note describes.
GO_SECRET = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
GO_NOTE = (
    GO_TEXT
    + "\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXg"
    + "KvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
# The example of C2SP tlog-checkpoint.
C2SP_TEXT = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"

NAME = "durak.example/log"
SECRET = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_SECRET = Ed25519PrivateKey.from_private_bytes(bytes(32))
KEY = VerifierKey.of(NAME, SECRET)
HEAD = Checkpoint(NAME, 17, bytes(range(32)))
NOTE = checkpoint.sign(HEAD.text(), NAME, SECRET)


def test_the_example_of_go_is_reproduced_and_verified() -> None:
    secret = Ed25519PrivateKey.from_private_bytes(base64.b64decode(GO_SECRET)[1:])
    assert checkpoint.sign(GO_TEXT, "PeterNeumann", secret) == GO_NOTE
    assert str(VerifierKey.of("PeterNeumann", secret)) == GO_KEY
    assert checkpoint.verify(GO_NOTE, VerifierKey.parse(GO_KEY)) == GO_TEXT


def test_the_example_of_c2sp_is_read_and_written() -> None:
    parsed = Checkpoint.parse(C2SP_TEXT)
    assert (parsed.origin, parsed.size) == ("example.com/behind-the-sofa", 20852163)
    assert parsed.text() == C2SP_TEXT


def test_a_written_checkpoint_is_read_back() -> None:
    assert checkpoint.verify_checkpoint(NOTE, KEY) == HEAD
    assert VerifierKey.parse(str(KEY)) == KEY


def test_every_changed_byte_of_a_checkpoint_is_found() -> None:
    data = NOTE.encode()
    for at in range(len(data)):
        changed = (data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]).decode(errors="replace")
        with pytest.raises(NoteError):
            checkpoint.verify_checkpoint(changed, KEY)


def test_signatures_of_other_keys_are_ignored_and_an_invalid_one_of_the_key_is_refused() -> None:
    other = VerifierKey.of(NAME, OTHER_SECRET)
    both = checkpoint.cosign(NOTE, NAME, OTHER_SECRET)
    assert checkpoint.verify_checkpoint(both, KEY) == HEAD
    assert checkpoint.verify_checkpoint(both, other) == HEAD
    with pytest.raises(NoteError, match="no signature of"):
        checkpoint.verify_checkpoint(NOTE, other)
    false = base64.b64encode(KEY.key_id + bytes(64)).decode()
    with pytest.raises(NoteError, match="invalid for this text"):
        checkpoint.verify_checkpoint(f"{NOTE}— {NAME} {false}\n", KEY)


def test_a_checkpoint_of_another_log_is_refused() -> None:
    foreign = checkpoint.sign(HEAD._replace(origin="other.example/log").text(), NAME, SECRET)
    with pytest.raises(NoteError, match="the key is"):
        checkpoint.verify_checkpoint(foreign, KEY)


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"{NAME}\n017\n{base64.b64encode(bytes(32)).decode()}\n",
        f"{NAME}\n-1\n{base64.b64encode(bytes(32)).decode()}\n",
        f"{NAME}\n{'9' * 5000}\n{base64.b64encode(bytes(32)).decode()}\n",
        f"{NAME}\n17\n{base64.b64encode(bytes(31)).decode()}\n",
        f"{NAME}\n17\nnot base64\n",
        f"\n17\n{base64.b64encode(bytes(32)).decode()}\n",
        f"{HEAD.text()}an extension\n",
    ],
)
def test_an_invalid_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(NoteError):
        Checkpoint.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a+b+c",
        f"{NAME}+00000000+{str(KEY).rpartition('+')[2]}",
        "a b+1+AQ==",
        "a\udc80+1+" + str(KEY).split("+", 2)[2],
    ],
)
def test_an_invalid_key_is_refused(text: str) -> None:
    with pytest.raises(NoteError):
        VerifierKey.parse(text)


@pytest.mark.parametrize("note", ["", "text\n", "text\n\n", "text\n\n— a\n", "t\n\n- a AAAAAAAA\n"])
def test_an_invalid_note_is_refused(note: str) -> None:
    with pytest.raises(NoteError):
        checkpoint.split(note)


@pytest.mark.parametrize("text", ["no end", "a\tb\n"])
def test_an_invalid_text_is_not_signed(text: str) -> None:
    with pytest.raises(NoteError):
        checkpoint.sign(text, NAME, SECRET)
