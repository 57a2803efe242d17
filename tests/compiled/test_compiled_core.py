"""When a checkout uses the compiled core, and that the compiled core plays like the sources."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import mypy.version
import pytest

from compiled.finder import MYPYC, folder_of

ROOT = Path(__file__).resolve().parent.parent.parent
has_compiled_core = pytest.mark.skipif(
    not folder_of(ROOT).is_dir(), reason="no compiled core: run `make compile`"
)


def run(
    root: Path, *words: str, core: str = "", path: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run Python in a checkout, without the finder of this environment."""
    environment = {**os.environ, "DURAK_CORE": core, "PYTHONPATH": f"{root}:{root}/proto"}
    environment |= {"PATH": path} if path else {}
    return subprocess.run(
        [sys.executable, *words], cwd=root, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


# --- which core a checkout uses -------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a small core, and another one in the place of the compiled core."""
    files = {
        "domain/__init__.py": "",
        "domain/cards.py": "form = 'pure'",
        "domain/puzzles/first.json": "{}",
        "proto/durak/v1/cards_pb2.pyi": "",
        "compiled/__init__.py": "",
        "compiled/finder.py": (ROOT / "compiled/finder.py").read_text(),
        "compiled/build.py": (ROOT / "compiled/build.py").read_text(),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    compiled = folder_of(tmp_path) / "domain"
    compiled.mkdir(parents=True)
    (compiled / "__init__.py").touch()
    (compiled / "cards.py").write_text("form = 'compiled'")
    return tmp_path


def form(checkout: Path, core: str = "") -> str:
    """The core that a new process uses: `compiled` or `pure`, or why there is none."""
    code = (
        "import compiled.finder; compiled.finder.install(); from domain import cards;"
        "print(cards.form)"
    )
    found = run(checkout, "-c", code, core=core)
    return found.stdout.strip() or found.stderr.strip()


def test_a_checkout_uses_the_core_that_was_compiled_from_its_sources(checkout: Path) -> None:
    assert form(checkout) == "compiled"
    assert form(checkout, "compiled") == "compiled"
    assert form(checkout, "pure") == "pure"


@pytest.mark.parametrize(
    "edit",
    [
        lambda root: (root / "domain/cards.py").write_text("form = 'pure' # edited"),
        lambda root: (root / "domain/new.py").touch(),
        lambda root: (root / "domain/puzzles/first.json").unlink(),
        lambda root: (root / "proto/durak/v1/cards_pb2.pyi").write_text("#"),
        lambda root: (root / "compiled/build.py").write_text("#"),
    ],
    ids=["source", "new-source", "data", "contract", "build"],
)
def test_an_edit_is_never_shadowed_by_an_old_binary(
    checkout: Path, edit: Callable[[Path], None]
) -> None:
    edit(checkout)
    assert form(checkout) == "pure"
    assert "needs a compiled core: run `make compile`" in form(checkout, "compiled")


def test_undoing_an_edit_uses_the_compiled_core_again(checkout: Path) -> None:
    source = checkout / "domain/cards.py"
    before = source.read_bytes()
    source.write_text("form = 'edited'")
    assert form(checkout) == "edited"
    source.write_bytes(before)
    assert form(checkout) == "compiled"


def test_an_unknown_choice_of_core_ends_the_process(checkout: Path) -> None:
    assert form(checkout, "fast") == "DURAK_CORE is 'fast'; set it to pure or compiled, or unset it"


# --- building -------------------------------------------------------------------------------------


def test_a_machine_without_a_c_compiler_and_zig_stays_pure_and_says_so(checkout: Path) -> None:
    (checkout / "domain/cards.py").write_text("form = 'edited'")
    found = run(checkout, "compiled/build.py", path="/nowhere")
    assert found.returncode == 0
    assert found.stderr.startswith("make: the core stays in plain Python: no C compiler, and zig")
    assert len(found.stderr.splitlines()) == 1
    assert form(checkout) == "edited"


def test_lock_file_wheel_and_finder_name_the_same_mypyc() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pin = f"mypy[mypyc]=={MYPYC}"
    assert pin in project["build-system"]["requires"]
    assert pin in project["dependency-groups"]["dev"]
    assert mypy.version.__version__ == MYPYC


@has_compiled_core
def test_tools_find_the_sources_where_there_is_a_compiled_core() -> None:
    """The import contracts and the docs are made from the sources, by the spec of the package."""
    code = (
        "import compiled.finder; compiled.finder.install(); import grimp;"
        "print(len(grimp.build_graph('domain', cache_dir=None).modules))"
    )
    counts = [run(ROOT, "-c", code, core=core).stdout for core in ("compiled", "pure")]
    assert counts[0] == counts[1] != ""


# --- the same play --------------------------------------------------------------------------------

PLAY = """
import compiled.finder; compiled.finder.install()
from dataclasses import replace
from functools import partial
from hashlib import sha256
from domain import cards
from domain.bots import BOTS, hard
from domain.bots.arena import BotMatch
from domain.endgame import evaluate_moves, solve
from durak.v1.settings_pb2 import BotLevel
from tests.bench.endgame import sample
from tests.domain.random_play import all_settings

print(cards.__file__.rpartition(".")[2])
play = replace(
    BOTS[BotLevel.BOT_LEVEL_HARD],
    choose_move=partial(hard.choose_move, budget=hard.Budget(iterations=60, positions=2000)),
)
for number, settings in enumerate([it for it in all_settings() if not it.stake_coins][::101]):
    match = BotMatch(settings, [play] * settings.seats, number.to_bytes(32), range(settings.seats))
    match.play()
    events = b"".join(it.SerializeToString(deterministic=True) for it in match.histories[0])
    print(sha256(events).hexdigest())
for transfer in (False, True):
    for position in sample(6, transfer=transfer, positions=20, seed=3):
        print(solve(position, budget=3000), evaluate_moves(position, budget=3000))
"""


@has_compiled_core
def test_bots_and_solver_decide_the_same_compiled_and_pure() -> None:
    """The same seeds and budgets: the same matches, values, moves and visited positions."""
    found = [run(ROOT, "-c", PLAY, core=core) for core in ("compiled", "pure")]
    assert [it.stderr for it in found] == ["", ""]
    (first, *compiled), (second, *pure) = (it.stdout.splitlines() for it in found)
    assert {first, second} == {"so", "py"}
    assert compiled == pure
    assert len(pure) > 40
