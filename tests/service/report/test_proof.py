"""The report page verifies its own transcript: in Node byte by byte, and in Chromium."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from domain.audit.transcript import Outcome, verify
from durak.v1.transcript_pb2 import Transcript
from service.report import page as page_module
from service.report.page import render_report
from tests.browser import CHROMIUM, Page, browsing
from tests.domain.audit.audit_matches import PlayedMatch, random_match
from tests.domain.audit.audit_transcripts import OTHER_SECRET, PUBLIC_KEY, transcript_of

NODE = shutil.which("node")
VERIFIER = Path(page_module.__file__).parent / "verify.mjs"
NEEDS_NODE = pytest.mark.skipif(NODE is None, reason="no node on this machine")
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

SWEEP = """
import { readFileSync } from "node:fs";
const { verify } = await import(process.argv[1]);
const data = new Uint8Array(readFileSync(process.argv[2]));
const key = process.argv[3];
const refuted = async () => (await verify(data, key)).checks.some(({ holds }) => !holds);
const { checks, missing } = await verify(data, key);
const accepted = [];
for (let at = 0; at < data.length; at++) {
  for (const bit of [1 << at % 8, 1 << (at + 3) % 8]) {
    data[at] ^= bit;
    if (!(await refuted())) accepted.push(at);
    data[at] ^= bit;
  }
}
console.log(JSON.stringify({ claims: checks, missing, accepted, swept: data.length }));
"""


def short_match() -> PlayedMatch:
    """Return a short staked match with secrets that was dealt and has ended."""
    matches = (random_match(seed, seats=2, deck=24, stake_coins=50) for seed in range(300))
    fit = (
        told
        for told in matches
        if {"seed_revealed", "dealt", "drew", "finished"}
        <= {record.event.WhichOneof("kind") for record in told.records}
    )
    return min(fit, key=lambda told: len(told.records))


TOLD = short_match()
NUMBERS = count()


def page_of(transcript: Transcript) -> str:
    return render_report(transcript.SerializeToString(), PUBLIC_KEY, "en")


def embedded(page: str) -> bytes:
    """Return the transcript inside a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found
    return base64.b64decode(json.loads(found[1])["transcript"])


def changed(page: str, at: int) -> str:
    """Return the page with one byte of its transcript changed."""
    data = bytearray(embedded(page))
    old = base64.b64encode(data).decode()
    data[at] ^= 1
    assert page.count(old) == 1
    return page.replace(old, base64.b64encode(data).decode())


@NEEDS_NODE
def test_every_changed_byte_is_refused_by_the_verifier_of_the_page(tmp_path: Path) -> None:
    page = page_of(transcript_of(TOLD))
    assert VERIFIER.read_text("utf-8") in page
    file = tmp_path / "embedded.transcript"
    file.write_bytes(embedded(page))
    command = [str(NODE), "--input-type=module", "-e", SWEEP, VERIFIER.as_uri(), str(file)]
    done = subprocess.run(
        [*command, PUBLIC_KEY], capture_output=True, text=True, check=True, timeout=300
    )
    found = json.loads(done.stdout)
    assert found["accepted"] == []
    assert found["swept"] == len(file.read_bytes()) > 2000
    assert found["missing"] == ""
    assert all(claim["holds"] for claim in found["claims"])
    claims = [claim["claim"] for claim in found["claims"]]
    assert {"chain", "secrets", "hands", "cards", "ledger", "tree", "signed"} <= set(claims)


@NEEDS_NODE
@pytest.mark.parametrize("seats", [2, 3, 4, 6])
@pytest.mark.parametrize("tricky", [0, 1])
def test_honest_matches_are_proven(tmp_path: Path, seats: int, tricky: int) -> None:
    for seed in range(3):
        told = random_match(seed, seats=seats, deck=52, tricky=tricky, stake_coins=50 * (seed % 2))
        file = tmp_path / f"{seed}.transcript"
        file.write_bytes(transcript_of(told).SerializeToString())
        assert verify(file.read_bytes(), PUBLIC_KEY).outcome is Outcome.PROVEN
        example = VERIFIER.parents[2] / "docs/verify_example.mjs"
        done = subprocess.run(
            [str(NODE), str(example), str(file), PUBLIC_KEY],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


@NEEDS_NODE
def test_the_page_has_a_text_for_every_claim() -> None:
    script = f"import {{ CLAIMS }} from '{VERIFIER.as_uri()}'; console.log(Object.keys(CLAIMS))"
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", script], capture_output=True, text=True, check=True
    )
    assert {*re.findall(r"'(\w+)'", done.stdout), "shown"} == {*page_module.CHECKS}


# --- in the browser -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browsing(tmp_path_factory.mktemp("browser")) as page:
        yield page


def proof(browser: Page, folder: Path, page: str, fragment: str = "") -> tuple[str, str]:
    """Open a page. Return the class and the text of its proof, once it is checked."""
    file = folder / f"{next(NUMBERS)}.html"  # another address, so that it loads again
    file.write_text(page, "utf-8")
    browser.open(file, fragment)
    return shown(browser)


def shown(browser: Page, state: str = "") -> tuple[str, str]:
    """Return the class and the text of the proof, once there is one (or the given one)."""
    text = "document.getElementById('proof-state').textContent"
    ready = f"document.getElementById('proof').classList.contains('{state}')" if state else text
    browser.run(
        f"new Promise(done => {{ const look = () => {ready} ? done() : setTimeout(look, 20);"
        " look(); })"
    )
    return browser.run("document.getElementById('proof').className"), browser.run(text)


@NEEDS_CHROMIUM
def test_the_key_in_the_address_proves_the_match_and_stays_there(
    browser: Page, tmp_path: Path
) -> None:
    page = page_of(transcript_of(TOLD))
    found, text = proof(browser, tmp_path, page, f"#at=3&key={PUBLIC_KEY}")
    assert (found, text[:7]) == ("verdict proven", "Proven:")
    assert browser.run("document.querySelector('[aria-current] .version').textContent") == "3"
    browser.press("ArrowRight")
    wanted = f"#at=4&key={PUBLIC_KEY}"
    browser.run(
        "new Promise(done => { const look = () => location.hash === "
        f"{json.dumps(wanted)} ? done() : setTimeout(look, 20); look(); }})"
    )
    claims = browser.run("document.querySelectorAll('#checks .holds').length")
    assert claims == browser.run("document.getElementById('checks').children.length") > 10


@NEEDS_CHROMIUM
def test_a_pasted_key_proves_the_match(browser: Page, tmp_path: Path) -> None:
    page = page_of(transcript_of(TOLD))
    assert proof(browser, tmp_path, page)[0] == "verdict consistent"
    browser.run("document.getElementById('key').focus()")
    browser.send("Input.insertText", text=PUBLIC_KEY[:-4])
    says = "document.getElementById('proof-state').textContent.includes('not a complete')"
    browser.run(
        f"new Promise(done => {{ const look = () => {says} ? done() : setTimeout(look, 20);"
        " look(); })"
    )
    browser.send("Input.insertText", text=PUBLIC_KEY[-4:])
    assert shown(browser, "proven")[1].startswith("Proven:")


@NEEDS_CHROMIUM
@pytest.mark.parametrize("part", [0.001, 0.2, 0.5, 0.8, 0.95, 0.999])
def test_a_changed_byte_turns_the_page_red(browser: Page, tmp_path: Path, part: float) -> None:
    page = page_of(transcript_of(TOLD))
    page = changed(page, int(part * len(embedded(page))))
    found, text = proof(browser, tmp_path, page, f"#key={PUBLIC_KEY}")
    assert found == "verdict refuted"
    assert text.startswith("Refuted. This does not hold: ")
    assert browser.run("document.getElementById('verdict').offsetHeight") == 0  # not green above
    assert browser.run("document.querySelectorAll('#checks .fault').length") == 1


@NEEDS_CHROMIUM
def test_another_key_and_another_table_are_refused(browser: Page, tmp_path: Path) -> None:
    other = page_of(transcript_of(TOLD, OTHER_SECRET))
    found, text = proof(browser, tmp_path, other, f"#key={PUBLIC_KEY}")
    assert found == "verdict refuted"
    assert "has signed the checkpoint" in text
    page = page_of(transcript_of(TOLD))
    forged = re.sub(r'"discard":0', '"discard":2', page, count=1)
    assert forged != page
    found, text = proof(browser, tmp_path, forged, f"#key={PUBLIC_KEY}")
    assert found == "verdict refuted"
    assert "the tables on this page" in text


@NEEDS_CHROMIUM
def test_without_ed25519_the_page_says_so(browser: Page, tmp_path: Path) -> None:
    lacking = (
        "const real = crypto.subtle.importKey.bind(crypto.subtle); crypto.subtle.importKey = "
        "(form, key, name, ...more) => name === 'Ed25519' "
        "? Promise.reject(new DOMException('no', 'NotSupportedError')) "
        ": real(form, key, name, ...more)"
    )
    script = browser.send("Page.addScriptToEvaluateOnNewDocument", source=lacking)
    found, text = proof(browser, tmp_path, page_of(transcript_of(TOLD)), f"#key={PUBLIC_KEY}")
    browser.send("Page.removeScriptToEvaluateOnNewDocument", **script)
    assert found == "verdict consistent"
    assert "cannot check Ed25519" in text


@NEEDS_CHROMIUM
def test_paper_shows_all_sections(browser: Page, tmp_path: Path) -> None:
    proof(browser, tmp_path, page_of(transcript_of(TOLD)), f"#key={PUBLIC_KEY}")
    folds = "[...document.querySelectorAll('details')].filter(it => !it.open).length"
    before = browser.run(folds)
    assert before > 2
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert browser.run(folds) == 0
    hidden = (
        "['viewer', 'log-box', 'proof'].filter(id => !document.getElementById(id).offsetHeight)"
    )
    assert browser.run(hidden) == []
    browser.send("Emulation.setEmulatedMedia", media="")
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    assert browser.run(folds) == before
