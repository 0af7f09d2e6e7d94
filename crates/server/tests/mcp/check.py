"""The official client against `belljar mcp` and `belljar serve`: what a user's client does, both ways.

usage: check.py BELLJAR

Every claim is made four times: over a pipe and over HTTP, with the handshake of older clients and with
the requests of newer ones, which stand alone.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

BELLJAR = Path(sys.argv[1] if len(sys.argv) > 1 else "target/debug/belljar").resolve()
PATIENCE = 60.0
os.environ["NO_PROXY"] = "127.0.0.1"
TOOLS = {
    "run_code",
    "run_step",
    "close_session",
    "run_program",
    "read_file",
    "write_file",
    "list_files",
    "save_artifact",
}
PNG = (
    "import struct, zlib\n"
    "def chunk(kind, data):\n"
    "    body = kind + data\n"
    "    return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))\n"
    "class Picture:\n"
    "    def _repr_png_(self):\n"
    "        head = chunk(b'IHDR', struct.pack('>IIBBBBB', 2, 2, 8, 2, 0, 0, 0))\n"
    "        rows = chunk(b'IDAT', zlib.compress(b'\\0\\xff\\0\\0\\0\\xff\\0' * 2))\n"
    "        return b'\\x89PNG\\r\\n\\x1a\\n' + head + rows + chunk(b'IEND', b'')\n"
    "class Drawing:\n"
    "    def _repr_svg_(self):\n"
    "        return '<svg xmlns=\"http://www.w3.org/2000/svg\"/>'\n"
    "display(Picture())\n"
    "display(Drawing())\n"
)


def text(result) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def fine(result):
    assert not result.is_error, text(result)
    return result


async def runs_code(client: Client) -> None:
    tools = await client.list_tools()
    assert {tool.name for tool in tools.tools} == TOOLS, tools
    result = fine(await client.call_tool("run_code", {"code": "print('hello')\n6 * 7"}))
    assert result.content[0].type == "text" and text(result).split() == ["hello", "42"], result
    assert result.structured_content["verdict"] == "ok", result.structured_content
    failed = await client.call_tool("run_code", {"code": "x = 1\nx / 0\n"})
    assert failed.is_error and "ZeroDivisionError" in text(failed), failed
    assert "line 2" in text(failed) and "x / 0" in text(failed), text(failed)
    slow = await client.call_tool("run_code", {"code": "while True: pass", "timeout": 0.5})
    assert slow.is_error and slow.structured_content["verdict"].startswith("timeout"), slow


async def refuses_with_a_sentence(client: Client) -> None:
    for tool, arguments, word in [
        ("run_code", {}, "code"),
        ("run_code", {"code": "1", "timeout": -1}, "timeout"),
        ("run_code", {"code": "1", "sandbox": "nowhere"}, "nowhere"),
        ("run_step", {"code": "1", "session": "ses_unknown"}, "ses_unknown"),
        ("read_file", {"path": "../../etc/passwd"}, "path"),
        ("run_program", {"command": []}, "command"),
        ("save_artifact", {"name": "x"}, "path"),
    ]:
        result = await client.call_tool(tool, arguments)
        assert result.is_error and word in text(result), (tool, arguments, result)
    try:
        await client.call_tool("run_shell", {})
    except Exception as error:
        assert "run_shell" in str(error), error
    else:
        raise AssertionError("a tool that is not there was called")


async def tells_of_progress(client: Client) -> None:
    told: list[tuple[float, str]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message or ""))

    code = (
        "import time\n"
        "emit_log('begins')\n"
        "for n in range(3):\n"
        "    print('printed', n)\n"
        "    emit_intermediate('part', n)\n"
        "    time.sleep(0.2)\n"
    )
    fine(await client.call_tool("run_code", {"code": code}, progress_callback=hear))
    words = "\n".join(message for _, message in told)
    for word in ["begins", "printed 0", "part: 0", "part: 2"]:
        assert word in words, (word, told)
    numbers = [number for number, _ in told]
    assert len(told) >= 3 and numbers == sorted(set(numbers)), told


def is_there(marker: str) -> bool:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if marker in entry.read_bytes().decode(errors="replace").split("\0"):
                return True
    return False


async def eventually(what: str, holds) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        await asyncio.sleep(0.05)


async def cancels(client: Client, verdicts) -> None:
    for tool, wait in [("run_code", True), ("run_program", False)]:
        marker = f"{time.time_ns() % 10**9 + 10**6}.125"
        code = f"import subprocess\nprint('on', flush=True)\nsubprocess.run(['sleep', '{marker}'])"
        arguments = {"code": code} if wait else {"command": ["sleep", marker]}
        before = verdicts().count("cancelled")
        call = asyncio.create_task(client.call_tool(tool, arguments))
        await eventually("it runs", lambda marker=marker: is_there(marker))
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        await eventually("the cell is gone", lambda marker=marker: not is_there(marker))
        await eventually(
            "the history says so", lambda before=before: verdicts().count("cancelled") == before + 1
        )
    fine(await client.call_tool("run_code", {"code": "1"}))


async def keeps_variables(client: Client) -> None:
    first = fine(await client.call_tool("run_step", {"code": "x = 20"}))
    session = first.structured_content["session"]
    assert f"session: {session}" in text(first), first
    second = fine(await client.call_tool("run_step", {"code": "x * 2 + 2", "session": session}))
    assert "42" in text(second), second
    fine(await client.call_tool("write_file", {"path": "in/a.txt", "text": "seven", "session": session}))
    read = fine(await client.call_tool("run_step", {"code": "open('in/a.txt').read()", "session": session}))
    assert "seven" in text(read), read
    listed = fine(await client.call_tool("list_files", {"session": session}))
    assert "in/a.txt (5 bytes)" in text(listed), listed
    fine(await client.call_tool("close_session", {"session": session}))
    gone = await client.call_tool("run_step", {"code": "x", "session": session})
    assert gone.is_error and session in text(gone), gone
    ended = await client.call_tool("run_step", {"code": "import os; os._exit(1)"})
    assert ended.is_error and "is over" in text(ended), ended
    assert "session" not in ended.structured_content, ended


async def carries_files(client: Client) -> None:
    raw = base64.b64encode(bytes([0, 255, 7])).decode()
    files = {"data/a.csv": "a,b\n1,2\n", "raw.bin": {"base64": raw}}
    code = (
        "rows = open('data/a.csv').read().upper()\n"
        "open('out.csv', 'w').write(rows)\n"
        "list(open('raw.bin', 'rb').read())\n"
    )
    result = fine(await client.call_tool("run_code", {"code": code, "files": files, "collect": ["out.*"]}))
    assert "[0, 255, 7]" in text(result) and "file: out.csv (8 bytes)" in text(result), result
    (file,) = result.structured_content["files"]
    assert base64.b64decode(file["base64"]) == b"A,B\n1,2\n", file

    place = {"workspace": "job"}
    fine(await client.call_tool("write_file", {"path": "in.txt", "text": "one\ntwo\n", **place}))
    command = ["sh", "-c", "wc -l <in.txt; tr a-z A-Z <in.txt >out.txt; cat; echo oops >&2; exit 3"]
    ran = await client.call_tool("run_program", {"command": command, "stdin": "read\n", **place})
    assert ran.is_error and ran.structured_content["exit_code"] == 3, ran
    assert "2\nread" in text(ran) and "stderr:\noops" in text(ran), text(ran)
    read = fine(await client.call_tool("read_file", {"path": "out.txt", **place}))
    assert text(read) == "ONE\nTWO\n", read
    listed = fine(await client.call_tool("list_files", place))
    assert {"in.txt", "out.txt"} <= {it["path"] for it in listed.structured_content["files"]}, listed


async def shows_pictures(client: Client) -> None:
    result = fine(await client.call_tool("run_code", {"code": PNG}))
    pictures = [block for block in result.content if block.type == "image"]
    assert [picture.mime_type for picture in pictures] == ["image/png", "image/svg+xml"], result
    assert base64.b64decode(pictures[0].data).startswith(b"\x89PNG\r\n"), pictures[0]
    assert base64.b64decode(pictures[1].data).startswith(b"<svg"), pictures[1]
    assert pictures[0].data not in json.dumps(result.structured_content), "a picture came twice"


async def keeps_artifacts(client: Client) -> None:
    fine(await client.call_tool("write_file", {"path": "r.csv", "text": "a\n1\n", "workspace": "kept"}))
    arguments = {"name": "report.csv", "path": "r.csv", "workspace": "kept"}
    saved = fine(await client.call_tool("save_artifact", arguments))
    link = next(block for block in saved.content if block.type == "resource_link")
    raw = base64.b64encode(b"\0\xff").decode()
    fine(await client.call_tool("save_artifact", {"name": "a b/raw", "base64": raw}))
    listed = {str(resource.uri): resource for resource in (await client.list_resources()).resources}
    assert {"belljar://artifacts/report.csv", "belljar://artifacts/a%20b/raw"} <= set(listed), listed
    for uri in [str(link.uri), "belljar://artifacts/report.csv"]:
        (content,) = (await client.read_resource(uri)).contents
        assert content.text == "a\n1\n" and content.mime_type.startswith("text/csv"), content
    (content,) = (await client.read_resource("belljar://artifacts/a%20b/raw")).contents
    assert base64.b64decode(content.blob) == b"\0\xff", content
    try:
        await client.read_resource("belljar://artifacts/none")
    except Exception as error:
        assert "none" in str(error), error
    else:
        raise AssertionError("an artifact that is not there was read")


async def claims(name: str, client: Client, verdicts) -> None:
    all_claims = [
        runs_code,
        refuses_with_a_sentence,
        tells_of_progress,
        lambda client: cancels(client, verdicts),
        keeps_variables,
        carries_files,
        shows_pictures,
        keeps_artifacts,
    ]
    for claim in all_claims:
        await asyncio.wait_for(claim(client), PATIENCE)
    print(f"mcp: {name}, {client.protocol_version}: {len(all_claims)} claims hold")


def kept_verdicts(state: str):
    """What the history says of the runs, read as a user would."""

    def read() -> list[str]:
        command = [BELLJAR, "runs", "ls", "--json", "-n", "1000", "--state", state]
        listed = subprocess.run(command, capture_output=True, text=True, check=True)
        return [run["verdict"] for run in json.loads(listed.stdout)["runs"]]

    return read


async def over_a_pipe(mode: str) -> None:
    with tempfile.TemporaryDirectory() as state:
        marker = f"{time.time_ns() % 10**9 + 10**6}.25"
        server = StdioServerParameters(
            command=str(BELLJAR), args=["mcp", "--state", state], env=dict(os.environ)
        )
        async with Client(server, mode=mode) as client:
            await claims(f"stdio ({mode})", client, kept_verdicts(state))
            # What is under way ends with its client.
            code = f"import subprocess\nsubprocess.run(['sleep', '{marker}'])"
            call = asyncio.create_task(client.call_tool("run_code", {"code": code}))
            await eventually("it runs", lambda: is_there(marker))
        with contextlib.suppress(asyncio.CancelledError, Exception):
            call.cancel()
            await call
        await eventually("the cell is gone", lambda: not is_there(marker))


def speaks_nothing_else() -> None:
    """Every line on stdout is a message, whatever happens, and a closed pipe is a good end."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    call = {"name": "run_code", "arguments": {"code": "print('hello')"}}
    messages = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/call", "params": call},
    ]
    sent = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    with tempfile.TemporaryDirectory() as state:
        command = [BELLJAR, "mcp", "--verbose", "--state", state]
        loud = {**os.environ, "BELLJAR_LOG": "debug"}
        done = subprocess.run(command, input=sent, capture_output=True, text=True, env=loud, timeout=PATIENCE)
    assert done.returncode == 0, done
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [0, 1], done.stdout
    assert answers[1]["result"]["content"][0]["text"] == "hello", answers
    assert "rmcp" in done.stderr, "the log is on stderr"
    print("mcp: stdout has nothing but the protocol")


@contextlib.contextmanager
def serving(state: str):
    command = [BELLJAR, "serve", "--listen", "127.0.0.1:0", "--state", state, "--drain", "1s"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = re.search(r"http://\S+", process.stdout.readline())
        assert url, "the server does not say where it is"
        yield url.group()
    finally:
        process.terminate()
        process.wait(PATIENCE)


def connect(url: str, token: str, mode: str) -> Client:
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    return Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode)


async def shares_its_history(url: str, token: str, state: str) -> None:
    """One that is started beside a server ends none of the server's runs."""
    marker = f"{time.time_ns() % 10**9 + 10**6}.5"
    code = f"import subprocess\nsubprocess.run(['sleep', '{marker}'])"
    server = StdioServerParameters(command=str(BELLJAR), args=["mcp", "--state", state], env=dict(os.environ))
    async with connect(url, token, "auto") as client:
        call = asyncio.create_task(client.call_tool("run_code", {"code": code}))
        await eventually("it runs", lambda: is_there(marker))
        async with Client(server) as beside:
            fine(await beside.call_tool("run_code", {"code": "1"}))
        assert None in kept_verdicts(state)(), "the run of the server is told to have ended"
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
    await eventually("every run has a verdict", lambda: None not in kept_verdicts(state)())
    print("mcp: several write one history")


async def over_http() -> None:
    with tempfile.TemporaryDirectory() as state, serving(state) as url:
        make = [BELLJAR, "token", "new", "--state", state, "--scope"]

        def token(scope: str) -> str:
            made = subprocess.run([*make, scope, scope], capture_output=True, text=True, check=True)
            return made.stdout.strip().splitlines()[-1]

        for mode in ["legacy", "auto"]:
            async with connect(url, token("run"), mode) as client:
                await claims(f"HTTP ({mode})", client, kept_verdicts(state))
                opened = fine(await client.call_tool("run_step", {"code": "secret = 1"}))
                stolen = {"code": "secret", "session": opened.structured_content["session"]}
                async with connect(url, token("run"), mode) as other:
                    refused = await other.call_tool("run_step", stolen)
                    assert refused.is_error and "not yours" in text(refused), refused
                    assert not (await other.list_resources()).resources, "artifacts of another token"
                async with connect(url, token("read"), mode) as reader:
                    refused = await reader.call_tool("run_code", {"code": "1"})
                    assert refused.is_error and "scope" in text(refused), refused
        await shares_its_history(url, token("run"), state)
        try:
            async with connect(url, "bj_nobody", "legacy"):
                pass
        except Exception as error:
            # That is all that the client tells.
            assert "error response" in repr(error), repr(error)
        else:
            raise AssertionError("a client without a token was let in")


async def main() -> None:
    speaks_nothing_else()
    for mode in ["legacy", "auto"]:
        await over_a_pipe(mode)
    await over_http()


if __name__ == "__main__":
    asyncio.run(main())
