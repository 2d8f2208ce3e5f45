"""`netkv p4`: the front end and the engine, on any P4_16 program for v1model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from netkv.bench.benchmarks import data_plane
from netkv.cli import (
    completion,
    p4_budget,
    p4_compile,
    p4_corpus,
    p4_fuzz,
    p4_packet_tests,
    p4_resources,
    p4_steps,
)
from netkv.cli.benchmark import command
from netkv.cli.executor import Executor
from netkv.cli.output import Json, notify, print_json, stdout, write
from netkv.cli.p4_source import (
    Defines,
    Includes,
    Program,
    StopOnAssert,
    compile_source,
    compiled,
    read_text,
)
from netkv.hex_text import hex_bytes

if TYPE_CHECKING:
    from rich.text import Text

app = typer.Typer(help="Check, describe, trace, test and time P4 programs.", no_args_is_help=True)
app.command("bench")(command(data_plane.BENCHMARK))
app.command("compile")(p4_compile.compile_)
app.command("corpus")(p4_corpus.corpus)
app.command("fuzz")(p4_fuzz.fuzz)
app.command("record")(p4_fuzz.record)
app.command("resources")(p4_resources.resources)

_SEVERITY = {"error": "bold red", "warning": "bold yellow", "note": "cyan"}
_MAX_FRAME = 2048


@app.command()
def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="P4_16 for v1model.", autocompletion=completion.p4_files
        ),
    ],
    include: Includes = None,
    define: Defines = None,
    json: Json = False,
) -> None:
    """Compile programs and print all their errors. Exit status 1 if there are any."""
    from netkv import _engine

    results: list[dict[str, Any]] = []
    for file in files:
        try:
            compile_source(file, include, define)
            results.append({"file": str(file), "ok": True, "diagnostics": []})
        except _engine.CompileError as error:
            found = list(getattr(error, "diagnostics", []))
            results.append({"file": str(file), "ok": False, "diagnostics": found})
            if not json:
                for diagnostic in found:
                    stdout().print(_shown(diagnostic), soft_wrap=True)
                if not found:
                    stdout().print(str(error), markup=False, highlight=False, soft_wrap=True)
        if not json and results[-1]["ok"]:
            stdout().print(f"{file}: no errors", markup=False, highlight=False, soft_wrap=True)
    wrong = [result for result in results if not result["ok"]]
    if json:
        print_json({"ok": not wrong, "files": results})
    elif wrong:
        total = sum(len(result["diagnostics"]) or 1 for result in wrong)
        notify(
            f"{total} {'error' if total == 1 else 'errors'} in {len(wrong)} of {len(files)} files."
        )
    if wrong:
        raise typer.Exit(1)


@app.command()
def info(
    program: Program,
    budget: Annotated[
        bool,
        typer.Option("--budget", help="Instead, estimate the resources on a Tofino-like switch."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="With --budget: exit status 1 if it does not fit.")
    ] = False,
    include: Includes = None,
    define: Defines = None,
    json: Json = False,
) -> None:
    """Print the P4Info of a program, as protobuf text or JSON, with the ids that p4c gives."""
    from netkv.errors import UsageError

    if strict and not budget:
        raise UsageError("--strict requires --budget: a P4Info has no limits.")
    bundle = compiled(program, include, define)
    if budget:
        p4_budget.show(program, bundle, strict=strict, json=json)
        return
    from netkv.p4rt import p4info

    description = p4info.as_p4c(bundle)
    if json:
        from google.protobuf.json_format import MessageToDict

        print_json(MessageToDict(description, preserving_proto_field_name=True))
    else:
        write(p4info.to_text(description), end="")


@app.command()
def trace(
    program: Program,
    frame: Annotated[
        str, typer.Argument(metavar="HEX|FILE", help="The frame in hex, or a file that holds it.")
    ],
    port: Annotated[int, typer.Option(min=0, max=511, help="Ingress port of the frame.")] = 1,
    setup: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.stf",
            help="Packet test to run before: it fills tables, registers, groups and sessions, "
            "and sends packets.",
            autocompletion=completion.stf_files,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random().")] = 0,
    pipelines: Annotated[int, typer.Option(help="Pipelines of the switch: 1, 2 or 4.")] = 1,
    include: Includes = None,
    define: Defines = None,
    json: Json = False,
) -> None:
    """Send one frame through a program, and show every step. Tables are empty without --setup."""
    from netkv import _engine
    from netkv.errors import UsageError

    data = _frame(frame)
    bundle = compiled(program, include, define)
    before = "" if setup is None else read_text(setup)
    script = f"{before.rstrip()}\npacket {port} {data.hex()}"
    try:
        # Only the interpreter traces steps.
        switch = _engine.Switch(bundle, seed, "interpreter", pipelines)
        last = script.count("\n") + 1
        (it,) = switch.trace_stf(script, str(setup or "the frame"), {last})
    except ValueError as error:
        raise UsageError(str(error)) from error
    if json:
        print_json(p4_steps.document(it))
    else:
        p4_steps.show(it)


@app.command()
def ir(
    program: Program, include: Includes = None, define: Defines = None, json: Json = False
) -> None:
    """Print a program as the engine runs it: objects, then one graph of blocks per control."""
    from netkv import _engine

    text = _engine.program_text(compiled(program, include, define))
    if json:
        print_json({"program": str(program), "ir": text})
    else:
        write(text, end="")


@app.command()
def stf(
    program: Annotated[
        Path,
        typer.Argument(
            metavar="PROGRAM.p4|DIRECTORY",
            help="P4_16 for v1model, or a folder: all NAME.stf beside a NAME.p4 in it.",
            autocompletion=completion.p4_files,
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE.stf]",
            help="The packet test: packets in, expected packets out.",
            autocompletion=completion.stf_files,
        ),
    ] = None,
    trace: Annotated[
        Literal["failed", "all"] | None,
        typer.Option(
            help="Show every step of the packets without the expected answer, or of all packets."
        ),
    ] = None,
    stop_on_assert: StopOnAssert = False,
    executor: Executor = None,
    include: Includes = None,
    define: Defines = None,
    json: Json = False,
) -> None:
    """Run a packet test on a program, or all of a folder. Exit status 1 if one does not pass."""
    from netkv import _engine
    from netkv.errors import UsageError

    if program.is_dir():
        if test is not None or trace is not None:
            raise UsageError("A folder of packet tests takes no FILE.stf and no --trace.")

        def compile_program(file: Path) -> bytes:
            return compile_source(file, include, define)

        engine = p4_packet_tests.Engine(executor or "compiled", stop_on_assert)
        if not p4_packet_tests.run(program, engine, compile_program, json=json):
            raise typer.Exit(1)
        return
    if test is None:
        raise UsageError(f"'{program}' is a program, so it needs a packet test: FILE.stf.")
    bundle = compiled(program, include, define)
    try:
        text = read_text(test)
        result = _engine.run_stf(
            bundle, text, str(test), executor or "compiled", stop_at_assertions=stop_on_assert
        )
        steps: list[_engine.TracedPacket] = []
        if trace is not None:
            # A second run with the interpreter: only it traces steps.
            wanted = set(result["mismatched_packets"]) if trace == "failed" else None
            steps = _engine.Switch(bundle, executor="interpreter").trace_stf(
                text, str(test), wanted
            )
    except ValueError as error:
        raise UsageError(str(error)) from error
    mismatches, failed = result["mismatches"], result["failed_assertions"]
    ok = not (mismatches or (stop_on_assert and failed))
    if json:
        traces = [{"line": it["line"], **p4_steps.document(it)} for it in steps]
        traced = {} if trace is None else {"traces": traces}
        print_json({"ok": ok, **result, **traced})
    else:
        for it in steps:
            write(f"{test}:{it['line']}:")
            p4_steps.show(it)
            print()
        for mismatch in mismatches:
            write(mismatch)
        for assertion in failed:
            write(p4_packet_tests.told(assertion))
        outcome = f"{len(mismatches)} not as expected" if mismatches else "all as expected"
        notify(f"{result['packets']} packets in, {result['expected']} expected out: {outcome}.")
    if not ok:
        raise typer.Exit(1)


def _shown(diagnostic: dict[str, Any]) -> Text:
    """A diagnostic for the terminal: position, message, source line, marker below the column."""
    from rich.text import Text

    severity = diagnostic.get("severity", "error")
    file, line, column = (diagnostic.get(name) for name in ("file", "line", "column"))
    where = ":".join(str(part) for part in (file, line, column) if part)
    text = Text(f"{where}: ", style="bold")
    text.append(f"{severity}: ", style=_SEVERITY.get(severity, "bold"))
    text.append(str(diagnostic.get("message", "")), style="bold")
    source = diagnostic.get("source_line")
    if source is not None and line:
        margin = f"{line:>5} | "
        text.append(f"\n{margin}", style="dim")
        text.append(source.expandtabs(4))
        if column:
            before = len(source[: column - 1].expandtabs(4))
            text.append(f"\n{' ' * (len(margin) - 2)}| ", style="dim")
            text.append(" " * before + "^", style=_SEVERITY.get(severity, "bold"))
    if diagnostic.get("help"):
        text.append("\n  help: ", style="cyan")
        text.append(str(diagnostic["help"]))
    return text


def _frame(given: str) -> bytes:
    from netkv.errors import UsageError

    file = Path(given)
    if len(given) < 1000 and file.is_file():
        content = file.read_bytes()
        # A file has the frame as bytes, or as hex digits with blanks.
        try:
            data = hex_bytes(content.decode("ascii"))
        except (UnicodeDecodeError, ValueError):
            data = content
    else:
        try:
            data = hex_bytes(given)
        except ValueError:
            raise UsageError(
                f"'{given}' is neither a file nor a frame in hex. "
                f"A frame looks like 'ffffffffffff0a0000000001 0800 45...'."
            ) from None
    if not 14 <= len(data) <= _MAX_FRAME:
        raise UsageError(
            f"The frame has {len(data)} bytes; an Ethernet frame has 14 to {_MAX_FRAME}."
        )
    return data
