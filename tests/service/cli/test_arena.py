"""`durak arena` in processes of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def arena(*words: str) -> subprocess.CompletedProcess[str]:
    durak = Path(sys.executable).with_name("durak")
    command = [str(durak), "arena", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_mirrored_matches_run_in_processes_and_give_rates_with_intervals() -> None:
    done = arena("normal", "easy", "--matches", "41", "--workers", "2", "--transfer")
    assert done.returncode == 0, done.stderr
    assert "normal against easy: 42 matches, 21 deals" in done.stdout
    row = r"│ (first|draw|durak|score)[^│]*│ +([\d.]+)% │ +([\d.]+)% – ([\d.]+)%"
    rows = re.findall(row, done.stdout)
    shares = {name: float(share) for name, share, _, _ in rows}
    assert set(shares) == {"first", "draw", "durak", "score"}
    assert abs(shares["first"] + shares["draw"] + shares["durak"] - 100) < 0.2
    assert abs(shares["score"] - shares["first"] - shares["draw"] / 2) < 0.2
    assert all(float(low) <= float(share) <= float(high) for _, share, low, high in rows)
    again = arena("normal", "easy", "--matches", "41", "--workers", "1", "--transfer")
    assert again.stdout == done.stdout


def test_a_table_with_too_few_cards_gives_one_clear_sentence() -> None:
    done = arena("normal", "easy", "--deck", "24", "--seats", "6")
    assert done.returncode == 2
    assert "6 seats need 36 cards" in done.stderr
    assert "Traceback" not in done.stderr
