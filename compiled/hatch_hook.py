"""The build hook of the wheel: adds the compiled core, if the building machine can compile."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledCore(BuildHookInterface):  # type: ignore[misc] # no type information
    """Compiles the core into the wheel. An editable installation uses `make compile`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is made. It stays a pure one if that is not possible."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name, "core")
        command = [sys.executable, "compiled/build.py", str(folder)]
        if subprocess.run(command, cwd=self.root, check=False).returncode:
            self.app.display_warning("the wheel has the core in plain Python")
            return
        binaries = [path for path in folder.rglob("*") if path.suffix in {".so", ".pyd"}]
        build_data["force_include"] |= {str(it): str(it.relative_to(folder)) for it in binaries}
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the folder: the wheel has its files."""
        if version != "editable":
            self._folder.cleanup()
