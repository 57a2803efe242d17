"""buf.gen.yaml makes client code for other languages, with every plugin that is installed."""

import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileOptions

from durak.v1.events_pb2 import Record
from durak.v1.transcript_pb2 import Transcript

ROOT = Path(__file__).resolve().parent.parent
BUF = Path(sys.executable).parent / "buf"
TEMPLATE = (ROOT / "buf.gen.yaml").read_text("utf-8")
CONTRACT = sorted((ROOT / "proto" / "durak" / "v1").glob("*.proto"))
EXAMPLE = ROOT / "docs" / "examples" / "staked.transcript"
HEAD, *ENTRIES = re.split(r"^(?=  - (?:local|protoc_builtin): )", TEMPLATE, flags=re.MULTILINE)
NODE_MODULES = Path(os.environ.get("DURAK_TEST_NODE_MODULES", "none"))
NO_REGISTRY = "no registry of Debian, npm or PyPI has this plugin: see docs/clients.md"
OTHER_NAMES = {"protoc-gen-grpc-java": "grpc_java_plugin"}
"""Names of plugins on Debian, where they differ."""
# A file that each plugin makes, and a line in it that shows the options of the contract.
MADE = {
    "protoc-gen-es": ("ts/durak/v1/table_pb.ts", "export type TableView = "),
    "protoc-gen-go": ("go/durak/v1/table.pb.go", "package durakv1"),
    "protoc-gen-go-grpc": ("go/durak/v1/match_service_grpc.pb.go", "package durakv1"),
    "java": ("java/durak/v1/TableView.java", "package durak.v1;"),
    "protoc-gen-grpc-java": ("java/durak/v1/MatchServiceGrpc.java", "package durak.v1;"),
    "kotlin": ("kotlin/durak/v1/TableViewKt.kt", "package durak.v1"),
    "csharp": ("csharp/Table.cs", "namespace Durak.V1 {"),
}
READER = """
import { readFileSync } from "node:fs"
import { fromBinary } from "@bufbuild/protobuf"
import { Card } from "./durak/v1/cards_pb.js"
import { RecordSchema } from "./durak/v1/events_pb.js"
import { TranscriptSchema } from "./durak/v1/transcript_pb.js"

const transcript = fromBinary(TranscriptSchema, readFileSync(process.argv[2]))
const records = transcript.records.map(({ record }) => fromBinary(RecordSchema, record))
const { trumpCard } = records.find(({ event }) => event.kind.case === "dealt").event.kind.value
console.log(records.map(({ event }) => event.kind.case).join(" "))
console.log(Card[trumpCard])
"""


def name_of(entry: str) -> str:
    return entry.partition(":")[2].split()[0]


def path_of(plugin: str, folder: Path) -> str:
    """A `PATH` where buf finds a plugin; skips the test where it is not installed."""
    local = NODE_MODULES / ".bin" / plugin
    found = shutil.which(plugin) or shutil.which(OTHER_NAMES.get(plugin, plugin))
    found = str(local) if local.exists() else found
    if not plugin.startswith(("protoc-gen-", "grpc_")):
        found = shutil.which("protoc")  # a part of protoc
    if found is None:
        pytest.skip(f"{plugin} is not installed" if plugin in MADE else f"{plugin}: {NO_REGISTRY}")
    links = folder / "bin"
    links.mkdir()
    (links / plugin).symlink_to(found)
    return f"{links}{os.pathsep}{os.environ['PATH']}"


def generate(entry: str, folder: Path) -> Path:
    """Run one entry of buf.gen.yaml. Return the folder of the generated code."""
    template = folder / "buf.gen.yaml"
    template.write_text(f"{HEAD}{entry}")
    done = subprocess.run(
        [BUF, "generate", "--template", template, "--output", folder],
        cwd=ROOT,
        env={**os.environ, "PATH": path_of(name_of(entry), folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "gen"


def run(command: list[str | Path], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("file", CONTRACT, ids=lambda file: file.stem)
def test_every_file_of_the_contract_has_the_options_of_every_language(file: Path) -> None:
    module = import_module(f"durak.v1.{file.stem}_pb2")
    options = FileOptions.FromString(module.DESCRIPTOR.GetOptions().SerializeToString())
    assert options == FileOptions(
        csharp_namespace="Durak.V1",
        go_package="durak.example/gen/durak/v1;durakv1",
        java_multiple_files=True,
        java_outer_classname=f"{file.stem.title().replace('_', '')}Proto",
        java_package="durak.v1",
        objc_class_prefix="DRK",
        swift_prefix="DurakV1",
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_every_plugin_makes_code_with_the_options_of_the_contract(
    entry: str, tmp_path: Path
) -> None:
    made = generate(entry, tmp_path)
    file, line = MADE[name_of(entry)]
    assert line in (made / file).read_text("utf-8")
    google = {path.name for path in made.rglob("*") if "google" in path.parts and path.is_file()}
    assert google <= {"status_pb.ts"}, "Google's messages come with Google's libraries"


@pytest.mark.skipif(
    not ((NODE_MODULES / "typescript").exists() and shutil.which("node")),
    reason="needs node, and in DURAK_TEST_NODE_MODULES the packages that docs/clients.md names",
)
def test_the_typescript_code_compiles_and_reads_a_transcript(tmp_path: Path) -> None:
    made = generate(next(it for it in ENTRIES if name_of(it) == "protoc-gen-es"), tmp_path) / "ts"
    (made / "node_modules").symlink_to(NODE_MODULES)
    (made / "package.json").write_text('{"type": "module"}')
    (made / "read.js").write_text(READER)
    options = ["--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck"]
    sources = sorted(path.relative_to(made) for path in made.glob("durak/v1/*.ts"))
    run([NODE_MODULES / ".bin" / "tsc", *options, *sources], made)
    read = run(["node", "read.js", EXAMPLE], made).splitlines()
    stored = Transcript.FromString(EXAMPLE.read_bytes()).records
    kinds = [str(Record.FromString(one.record).event.WhichOneof("kind")) for one in stored]
    names = [re.sub(r"_(\w)", lambda found: found[1].upper(), kind) for kind in kinds]
    assert read[0].split() == names
    assert re.fullmatch(r"CARD_\w+", read[1])
