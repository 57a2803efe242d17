"""Generate the Python code of the contract: `*_pb2.py`, `*_pb2_grpc.py` and their type stubs.

    python proto/generate.py            write the files next to their .proto (`make proto`)
    python proto/generate.py --check    fail and list the committed files that are not current

The compiler is the protoc of grpcio-tools, so the lock file pins its version. The stubs come from
mypy-protobuf, not from protoc's `pyi_out`. They have a type for each enum, literal types for the
arguments of `HasField` and `WhichOneof`, servicers for grpc.aio, and the comments of the .proto
files as docstrings.

External imports (`google/rpc/*.proto`) are copied from the locked wheel googleapis-common-protos to
`third_party`, where editors and buf find them. buf reads only files in the work tree.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent
SCRIPTS = Path(sys.executable).parent  # the folder of the protoc plugins of this environment
PACKAGE = "durak/v1"
THIRD_PARTY = ("google/rpc/status.proto",)


def generate(target: Path) -> None:
    """Write all generated files below `target`, in the layout of `proto/`."""
    for name in THIRD_PARTY:
        copy = target / "third_party" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(
            files("google").joinpath(name.removeprefix("google/")).read_text("utf-8"), "utf-8"
        )
    sources = sorted(str(path.relative_to(ROOT)) for path in (ROOT / PACKAGE).glob("*.proto"))
    if not sources:
        sys.exit(f"no .proto file in {ROOT / PACKAGE}")
    arguments = [
        "protoc",
        f"--proto_path={ROOT}",
        f"--proto_path={target / 'third_party'}",
        f"--proto_path={files('grpc_tools').joinpath('_proto')}",
        f"--plugin=protoc-gen-mypy={SCRIPTS / 'protoc-gen-mypy'}",
        f"--plugin=protoc-gen-mypy_grpc={SCRIPTS / 'protoc-gen-mypy_grpc'}",
        f"--python_out={target}",
        f"--grpc_python_out={target}",
        f"--mypy_out=quiet:{target}",
        f"--mypy_grpc_out=quiet,only_async:{target}",
        *sources,
    ]
    status = protoc.main(arguments)
    if status != 0:
        sys.exit(status)
    drop_empty_services(target)


def drop_empty_services(target: Path) -> None:
    """Remove the grpc modules of files without a service. protoc writes them anyway."""
    for module in (target / PACKAGE).glob("*_pb2_grpc.py"):
        if "class " not in module.read_text("utf-8"):
            module.unlink()
            module.with_suffix(".pyi").unlink(missing_ok=True)


def generated(tree: Path) -> Iterator[Path]:
    """Yield the generated files found below `tree`, relative to it."""
    for pattern in (f"{PACKAGE}/*_pb2*.py", f"{PACKAGE}/*_pb2*.pyi", "third_party/**/*.proto"):
        yield from (path.relative_to(tree) for path in tree.glob(pattern))


def differences(fresh: Path, committed: Path) -> list[str]:
    """List the files in `committed` that are missing, left over or differ from `fresh`."""
    wanted, present = set(generated(fresh)), set(generated(committed))
    stale = {
        name
        for name in wanted & present
        if (fresh / name).read_bytes() != (committed / name).read_bytes()
    }
    named = (("missing", wanted - present), ("left over", present - wanted), ("not current", stale))
    return [f"{problem}: proto/{name}" for problem, names in named for name in sorted(names)]


def main() -> None:
    """Write the generated files. With `--check` only verify that the committed ones are current."""
    parser = argparse.ArgumentParser(description="Generate the Python code of the contract.")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; fail if the committed files are not current",
    )
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        generate(fresh)
        problems = differences(fresh, ROOT)
        if check:
            if problems:
                sys.exit("\n".join([*problems, "run `make proto` and commit the result"]))
            return
        for name in set(generated(ROOT)) - set(generated(fresh)):
            (ROOT / name).unlink()
        for name in generated(fresh):
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_bytes((fresh / name).read_bytes())
    sys.stdout.write(
        "\n".join(problems or ["nothing to do: the generated files are current"]) + "\n"
    )


if __name__ == "__main__":
    main()
