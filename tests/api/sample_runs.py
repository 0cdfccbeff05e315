"""Sends the requests of the reference as they are printed: in curl, Python or TypeScript, with the official clients.

Each language has a function that makes a `Sender` of all its samples. What a sender is given are the names in capitals
that a sample asks for, and how to change its text where an id is a part of the example.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.journeys import built_clients
from tools.node_packages import NODE

Change = Callable[[str], str]
Sender = Callable[[str, dict[str, str], Change], Any]
NAMES = ("BASE", "KEY", "CLIENT_ID", "ID", "FILE", "TOKEN", "COMPONENT_ID")

_DOES_SAMPLES = """
import json, sys
for line in sys.stdin:
    program, names = json.loads(line)
    exec(program, names := {**names, "print": lambda answer: None})
    answer = names["answer"]
    said = answer if isinstance(answer, (dict, type(None))) else getattr(answer, "to_dict", dict)()
    print(json.dumps(said), flush=True)
"""
"""Does one sample after the other, because the client takes a second to import. A file as answer says nothing."""
_IMPORTS_SAMPLES = f"""
import {{ createInterface }} from "node:readline";
import {{ format }} from "node:util";
for await (const line of createInterface({{ input: process.stdin }})) {{
  const [program, names] = JSON.parse(line);
  for (const name of {json.dumps(NAMES)}) globalThis[name] = names[name];
  const said = [];
  console.log = (...values) => said.push(format(...values));
  await import(program);
  process.stdout.write(JSON.stringify(said.join("\\n")) + "\\n");
}}
"""
"""The same in TypeScript, compiled: what each program prints."""


@contextmanager
def curl(place: Path, samples: dict[str, str]) -> Iterator[Sender]:
    (place / ".curlrc").write_text("silent\nshow-error\nfail-with-body\n", encoding="utf-8")

    def send(name: str, given: dict[str, str], change: Change) -> Any:
        command = ["bash", "-c", change(samples[name])]
        variables = os.environ | given | {"HOME": str(place)}
        done = subprocess.run(command, env=variables, cwd=place, capture_output=True, check=False)
        assert done.returncode == 0, (name, done.stdout, done.stderr)
        return json.loads(done.stdout) if done.stdout[:1] in (b"{", b"[") else None

    yield send


@contextmanager
def python(place: Path, samples: dict[str, str]) -> Iterator[Sender]:
    built_clients.python(place)
    command = [built_clients.environment(), "-c", _DOES_SAMPLES]
    path = os.environ | {"PYTHONPATH": str(place / "installed")}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=path, cwd=place, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout

        def send(name: str, given: dict[str, str], change: Change) -> Any:
            process.stdin.write(json.dumps([change(samples[name]), given]) + "\n")
            process.stdin.flush()
            said = process.stdout.readline()
            assert said, f"{name}: the program ended"
            return json.loads(said)

        yield send
        process.stdin.close()


@contextmanager
def typescript(place: Path, samples: dict[str, str]) -> Iterator[Sender]:
    built_clients.typescript(place)
    (place / "names.d.ts").write_text("".join(f"declare const {name}: string;\n" for name in NAMES), encoding="utf-8")
    (place / "samples.mjs").write_text(_IMPORTS_SAMPLES, encoding="utf-8")
    for name, text in samples.items():
        (place / f"{name}.ts").write_text(text, encoding="utf-8")
    built_clients.compile_typescript(place, *(Path(f"{name}.ts") for name in samples), Path("names.d.ts"))
    pipe = subprocess.PIPE
    with subprocess.Popen([NODE, "samples.mjs"], cwd=place, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout

        def send(name: str, given: dict[str, str], change: Change) -> Any:
            program = place / "built" / f"{name}.js"
            program.write_text(change(program.read_text(encoding="utf-8")), encoding="utf-8")
            process.stdin.write(json.dumps([f"./built/{name}.js", given]) + "\n")
            process.stdin.flush()
            printed = process.stdout.readline()
            assert printed, f"{name}: the program ended"
            said = json.loads(printed)
            return json.loads(said) if said.startswith(("{", "[")) else None

        yield send
        process.stdin.close()
