"""The web client, built once for all tests in browsers."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def client() -> Path:
    """The built client, as `make web` builds it."""
    command = "from deploy.web import build_client; print(build_client())"
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.split()[-1])
