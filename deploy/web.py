"""`make web`: play in the browser. Starts Postgres, the service, the edge and the web client.

    python deploy/web.py [--port 8080] [--data-dir .durak] [--name Guest]

Prints an address with the token of a guest, signed with the development key. Ctrl-C stops all.
"""

import argparse
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from urllib.error import URLError
from urllib.request import urlopen

from service.cli.tokens import development_token
from service.config import Config

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "clients" / "web"
BIN = Path(sys.executable).parent
START_SECONDS = 90.0


def build_client() -> Path:
    """Build the client with npm, unless it was built from these sources. Return its folder."""
    built = CLIENT / "dist" / "index.html"
    inputs = [it for it in (CLIENT / "src").rglob("*") if it.is_file()]
    inputs += [CLIENT / "package-lock.json", *(ROOT / "proto" / "durak").rglob("*.proto")]
    if built.exists() and built.stat().st_mtime > max(it.stat().st_mtime for it in inputs):
        return built.parent
    if shutil.which("npm") is None:
        sys.exit("make web needs Node 20 or newer with npm; on Debian: apt-get install nodejs npm")
    installed = CLIENT / "node_modules" / ".package-lock.json"
    wanted = CLIENT / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
        _run("npm", "ci", "--silent", "--no-audit", "--no-fund")
    _run("npm", "run", "--silent", "build")
    return built.parent


def _run(*command: str) -> None:
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(command, cwd=CLIENT, env=environment, check=True, stdout=sys.stderr)


def _wait_until_served(address: str, processes: list[subprocess.Popen[bytes]]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if any(process.poll() is not None for process in processes):
            sys.exit("make web: a part has ended; its log is above")
        try:
            urlopen(f"{address}/ready", timeout=1).close()  # noqa: S310 - http on this machine
        except (URLError, TimeoutError):
            time.sleep(0.1)
        else:
            return
    sys.exit(f"make web: nothing answers after {START_SECONDS:.0f} seconds")


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Start all parts and wait until one ends."""
    parser = argparse.ArgumentParser(prog="make web")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--service-port", type=int, default=50051)
    parser.add_argument("--data-dir", type=Path, default=Path(".durak"))
    parser.add_argument("--name", default=f"Guest {secrets.randbelow(9000) + 1000}")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _stop)
    client = build_client()
    service = {"DURAK_TRUSTED_PROXIES": "127.0.0.1", "DURAK_BOT_DELAY_SECONDS": "0.8"}
    edge = {"LISTEN_PORT": given.port, "SERVICE_PORT": given.service_port, "CLIENT": client}
    settings = {f"EDGE_{name}": str(value) for name, value in edge.items()}
    ports = ["--port", str(given.service_port), "--data-dir", str(given.data_dir)]
    processes = [
        subprocess.Popen([BIN / "durak", "serve", *ports], env={**service, **os.environ}),
        subprocess.Popen(
            [sys.executable, ROOT / "deploy" / "edge" / "edge.py"], env={**os.environ, **settings}
        ),
    ]
    address = f"http://127.0.0.1:{given.port}"
    try:
        _wait_until_served(address, processes)
        token = development_token(Config(data_dir=given.data_dir), given.name)
        print(f"\nPlay at {address}/#token={token}\n\nStop with Ctrl-C.", flush=True)  # noqa: T201
        processes[0].wait()
    except KeyboardInterrupt:
        pass
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait()


if __name__ == "__main__":
    main()
