"""Compiles the core with mypyc.

    python -m compiled.build            for this checkout and environment (`make compile`)
    python compiled/build.py FOLDER     into a folder (the build hook of the wheel)

Without a C compiler or Python's headers the core stays in plain Python, and one line says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the build hook runs this file as a script

from compiled.finder import LIBRARY, folder_of  # noqa: E402 - see above

ZIGLANG: Final = "ziglang==0.15.2"
"""A C compiler from PyPI, for machines that have none."""
KEPT: Final = 3
"""The builds that a checkout keeps. A running process may still import from an older one."""


TYPES: Final = """
[mypy]
explicit_package_bases = True
[mypy-google.rpc.*]
ignore_missing_imports = True
"""
"""The settings of mypy. `make lint` checks more, but needs packages that compiling does not."""


class CannotCompileError(Exception):
    """This machine lacks something that compiling needs."""


def find_compiler() -> str:
    """Return the command of a C compiler, from PyPI if the machine has none.

    Raises CannotCompileError.
    """
    headers = Path(sysconfig.get_path("include"), "Python.h")
    if not headers.exists():
        raise CannotCompileError(f"no headers of Python ({headers})")
    for command in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if command and shutil.which(command.split()[0]):
            return command
    return _zig()


def _zig() -> str:
    """Install Zig into the tools of the checkout, once, and return its C compiler."""
    python = ROOT / ".durak/tools/bin/python"
    installing = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", ZIGLANG]
    if not python.exists() or subprocess.run(installing, check=False, stdout=sys.stderr).returncode:
        raise CannotCompileError(f"no C compiler, and {ZIGLANG} cannot be installed")
    return f"{python} -m ziglang cc"


def compile_core(folder: Path, compiler: str) -> None:
    """Compile `domain` into a folder: the layout of the wheel, sources and data included."""
    from mypyc.build import mypycify  # noqa: PLC0415 - only the compiling process needs it
    from setuptools import Distribution  # noqa: PLC0415 - as above
    from setuptools.command.build_ext import build_ext  # noqa: PLC0415 - as above

    os.environ.update(MYPYPATH=str(ROOT / "proto"), CC=compiler)
    os.chdir(ROOT)  # tracebacks show the paths of the sources from here
    shutil.copytree("domain", folder / "domain", ignore=shutil.ignore_patterns("__pycache__"))
    # Tools find the sources by `domain/__init__.py`, which is an empty module.
    sources = sorted(set(Path("domain").rglob("*.py")) - {Path("domain/__init__.py")})
    with tempfile.TemporaryDirectory() as made:
        settings = Path(made, "mypy.ini")
        settings.write_text(TYPES)
        options = [f"--config-file={settings}", f"--cache-dir={made}/mypy"]
        extensions = mypycify(
            [*options, *map(str, sources)],
            target_dir=f"{made}/c",
            group_name=LIBRARY.removesuffix("__mypyc"),
            opt_level="2",
            debug_level="0",
        )
        building = build_ext(Distribution({"name": "durak", "ext_modules": extensions}))
        building.build_lib, building.build_temp = str(folder), f"{made}/o"
        building.ensure_finalized()
        building.run()


def compile_checkout() -> str:
    """Compile the core of this checkout, unless that is done. Return a message, if any.

    Raises CannotCompileError.
    """
    environment = Path(sysconfig.get_path("purelib"), "_durak_compiled.pth")
    environment.write_text("import compiled.finder; compiled.finder.install()\n")
    folder = folder_of(ROOT)
    if folder.is_dir():
        return ""
    compiler = find_compiler()
    print("make: compiling the core once; this takes one or two minutes", file=sys.stderr)
    folder.parent.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.parent.iterdir(), key=lambda path: -path.stat().st_mtime)[KEPT - 1 :]:
        shutil.rmtree(old)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="unfinished-") as made:
        command = [sys.executable, __file__, f"{made}/core"]
        process = subprocess.run(
            command, check=False, capture_output=True, text=True, env={**os.environ, "CC": compiler}
        )
        if process.returncode:
            raise CannotCompileError(f"the compiler failed\n{process.stdout}{process.stderr}")
        Path(made, "core").rename(folder)  # it appears only when it is complete
    return "the core is compiled"


def main() -> None:
    """Compile for the checkout, or into the folder that the command line names."""
    try:
        if sys.argv[1:]:
            compile_core(Path(sys.argv[1]), find_compiler())
        elif message := compile_checkout():
            print(f"make: {message}", file=sys.stderr)
    except CannotCompileError as error:
        print(f"make: the core stays in plain Python: {error}", file=sys.stderr)
        sys.exit(1 if sys.argv[1:] else 0)


if __name__ == "__main__":
    main()
