"""Lets a checkout import the compiled core, but only one that was built from its present sources.

`make compile` builds the core into `.durak/compiled/FINGERPRINT` and adds a line to the virtual
environment that calls `install` whenever Python starts. `DURAK_CORE` chooses:

- unset: the compiled core if there is one for the present sources, else the sources.
- `pure`: the sources.
- `compiled`: the compiled core. Without one the process ends.
"""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:  # these imports would slow down every start of Python
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType
    from typing import Final

MYPYC: Final = "2.4.1"
"""The version of mypy that compiles. The lock file and the wheel use the same."""
LIBRARY: Final = "durak_core__mypyc"
"""The module with all machine code. The modules of `domain` are entries into it."""


class CompiledCore:
    """Finds `domain` and its library in the folder that fits the sources."""

    def __init__(self) -> None:
        self.folder: Path | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find `domain`. Python finds its submodules by its ``__path__``."""
        if name == "domain":
            self.folder = _chosen_folder()
        elif name != LIBRARY:
            return None
        return PathFinder.find_spec(name, [str(self.folder)]) if self.folder else None


def install() -> None:
    """Make this process use the compiled core."""
    sys.meta_path.insert(0, CompiledCore())


def fingerprint(root: Path) -> str:
    """Return a hash of all that the compiled core depends on."""
    from hashlib import sha256  # noqa: PLC0415 - not needed to start Python

    found = sha256(f"{MYPYC} {EXTENSION_SUFFIXES[0]}".encode())
    contract = root.glob("proto/durak/**/*.pyi")
    sources = [*root.glob("domain/**/*"), *contract, root / "compiled/build.py"]
    for path in sorted(sources):
        if path.is_file() and path.suffix != ".pyc":
            found.update(f"\0{path.relative_to(root)}\0".encode())
            found.update(sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def folder_of(root: Path) -> Path:
    """Return the folder for the compiled core of a checkout."""
    return root / ".durak/compiled" / fingerprint(root)


def _chosen_folder() -> Path | None:
    import os  # noqa: PLC0415 - as above
    from pathlib import Path  # noqa: PLC0415 - as above

    choice = os.environ.get("DURAK_CORE", "")
    if choice not in {"", "pure", "compiled"}:
        sys.exit(f"DURAK_CORE is {choice!r}; set it to pure or compiled, or unset it")
    if choice == "pure":
        return None
    folder = folder_of(Path(__file__).resolve().parent.parent)
    if folder.is_dir():
        return folder
    if choice == "compiled":
        sys.exit("DURAK_CORE=compiled needs a compiled core: run `make compile`")
    return None
