"""Functions that scripts call."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import enum
import threading
from typing import Annotated, Any, Literal, Optional

import pytest

import belljar
from belljar import ToolParameter, ToolRegistry, ToolResponse, tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float


def test_a_plain_function_runs_here_and_is_called_from_the_cell() -> None:
    tools = ToolRegistry()
    called: list[tuple[str, int]] = []

    @tools.tool
    def search(query: str, limit: int = 10) -> list[str]:
        """Search the catalogue.

        Args:
            query: What to look for.
            limit: How many
                at most.
        """
        called.append((query, limit))
        return [query] * limit

    result = belljar.run("emit_result(search('a', limit=2).data)", tools=tools)
    assert (result.final_data, called) == (["a", "a"], [("a", 2)])
    assert result.tool_calls[0]["tool"] == "search" and result.tool_calls[0]["success"]
    registered = tools.get("search")
    assert registered is not None
    told = registered.to_dict()
    assert told["description"] == "Search the catalogue."
    assert [each["description"] for each in told["parameters"]] == ["What to look for.", "How many at most."]
    schema = registered.forms()["openai"][0]["function"]["parameters"]
    assert schema["required"] == ["query"] and schema["properties"]["limit"]["default"] == 10


async def test_an_async_function_runs_on_the_loop_that_awaits_the_run() -> None:
    seen: list[asyncio.AbstractEventLoop] = []
    lock = asyncio.Lock()

    async def locked() -> str:
        "Uses what lives on the loop."
        async with lock:
            seen.append(asyncio.get_running_loop())
            return "in"

    result = await belljar.arun("print(locked().data)", tools=[locked])
    assert (result.stdout, seen) == ("in\n", [asyncio.get_running_loop()])


def test_an_async_function_without_a_loop_has_one_of_its_own() -> None:
    async def where() -> str:
        "Tells."
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert belljar.run("print(where().data)", tools=[where]).stdout == "belljar-loop\n"


async def test_a_function_that_nobody_waits_for_is_cancelled() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        "Never ends by itself."
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    run = asyncio.ensure_future(belljar.arun("slow()", tools=[slow], timeout=1000))
    await begun.wait()
    run.cancel()
    await asyncio.wait_for(ended.wait(), 60)


def test_context_variables_are_those_of_whoever_began_the_run() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")

    def who() -> str:
        "Tells."
        return user.get()

    sandbox = belljar.Sandbox(tools=[who])

    def run_as(name: str) -> str:
        user.set(name)
        return sandbox.run("print(who().data)").wait().stdout

    assert [contextvars.copy_context().run(run_as, name) for name in ("ann", "bob")] == ["ann\n", "bob\n"]


def test_a_failing_function_is_a_failed_response_or_an_exception() -> None:
    tools = ToolRegistry()

    @tools.tool
    def polite() -> None:
        "Fails."
        raise ValueError("no such thing")

    @tools.tool(raises=True)
    def rude() -> None:
        "Fails."
        raise KeyError("x")

    @tools.tool
    def own() -> ToolResponse:
        "Fails in its own words."
        return ToolResponse(success=False, message="not today")

    script = """
print(polite().success, polite().message)
print(own().success, own().message)
try:
    rude()
except Exception as error:
    print(type(error).__name__, error)
"""
    out = belljar.run(script, tools=tools).stdout.split("\n")
    assert out[0] == "False ValueError: no such thing"
    assert out[1] == "False not today"
    assert "KeyError: 'x'" in out[2]


def test_types_cross_both_ways() -> None:
    given: dict[str, Any] = {}

    def takes(
        colour: Colour,
        point: Point,
        data: bytes,
        names: list[str],
        mode: Literal["fast", "slow"] = "fast",
        note: Optional[str] = None,
        size: Annotated[int, "In metres."] = 3,
    ) -> dict[str, Any]:
        "Takes all kinds."
        given.update(colour=colour, point=point, data=data, names=names, mode=mode, note=note, size=size)
        return {"data": b"\x00\xff", "point": Point(1, 2), "colour": Colour.RED}

    script = """
answer = takes("blue", {"x": 1, "y": 2}, b"\\xfe", ["a"]).data
print(answer)
print(takes("green", {"x": 1, "y": 2}, b"", []).message)
"""
    result = belljar.run(script, tools=[takes])
    assert given["colour"] is Colour.BLUE and given["point"] == Point(1, 2) and given["data"] == b"\xfe"
    assert (given["mode"], given["note"], given["size"]) == ("fast", None, 3)
    first, second = result.stdout.rstrip("\n").split("\n")
    assert first == "{'data': b'\\x00\\xff', 'point': {'x': 1, 'y': 2}, 'colour': 'red'}"
    assert "red" in second and "blue" in second


def test_a_pydantic_model_is_checked_and_made() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Order(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        item: str
        count: int = pydantic.Field(1, gt=0)

    orders: list[Any] = []

    def order(it: Order) -> Order:
        "Orders something."
        orders.append(it)
        return it

    order.__annotations__.update(it=Order, **{"return": Order})
    script = "print(order({'item': 'tea'}).data); print(order({'item': 'tea', 'count': 0}).message)"
    result = belljar.run(script, tools=[order])
    first, second = result.stdout.split("\n", 1)
    assert first == "{'item': 'tea', 'count': 1}" and orders == [Order(item="tea", count=1)]
    assert "greater than 0" in second


async def adds(a: int, b: int = 2) -> Any:
    """Adds in the cell."""
    await asyncio.sleep(0)
    return ToolResponse(success=True, data=a + b)


def test_a_guest_tool_runs_in_the_cell() -> None:
    tools = ToolRegistry().add(adds, where="guest")
    result = belljar.run("print(adds(1).data, adds(1, b=5).data)", tools=tools)
    assert (result.stdout, result.tool_calls) == ("3 6\n", [])


def test_a_tool_with_packages_or_secrets_is_the_cells() -> None:
    tools = ToolRegistry()
    decorated = tools.tool(
        "Adds.", parameters=[ToolParameter("a", "int", required=True)], secrets=["KEY_OF_ADDS"]
    )
    decorated(adds)
    registered = tools.get("adds")
    assert registered is not None and registered.where == "guest"
    assert tools.aggregate_secrets("default") == ["KEY_OF_ADDS"]
    with pytest.raises(ValueError, match="KEY_OF_ADDS"):
        belljar.Sandbox(tools=tools).open().wait()
    with belljar.Runtime(secrets={"KEY_OF_ADDS": "a-long-value"}) as runtime:
        sandbox = runtime.sandbox(tools=tools)
        assert sandbox.run("print(adds(1).data, len(os.environ['KEY_OF_ADDS']))").wait().stdout == "3 12\n"


def test_what_is_no_tool_is_refused_with_a_reason() -> None:
    with pytest.raises(TypeError, match="args"):
        ToolRegistry().add(lambda *args: None)

    def emit_result() -> None:
        "A name that every script has."

    with pytest.raises(ValueError, match="emit_result"):
        belljar.run("1", tools=[emit_result])
    with pytest.raises(belljar.errors.ToolError, match="where"):
        tool(where="moon", _registry=ToolRegistry())(adds)  # type: ignore[call-overload]


def test_progress_is_heard_by_whoever_follows_the_run() -> None:
    def slow() -> None:
        "Tells how far it is."
        belljar.progress(1, 3, "a third")

    events = [event for event in belljar.stream("slow()", tools=[slow]) if event.type == "tool_progress"]
    assert [(event["progress"], event["total"], event["message"]) for event in events] == [(1, 3, "a third")]


def test_a_tool_that_exits_fails_and_ends_nothing_else() -> None:
    tools = ToolRegistry()

    @tools.tool
    async def leaves() -> None:
        "Exits."
        raise SystemExit(7)

    @tools.tool
    async def hello() -> str:
        "Greets."
        return "hi"

    sandbox = belljar.Sandbox(tools=tools)
    assert "SystemExit" in sandbox.run("print(leaves().message)").wait().stdout
    assert sandbox.run("print(hello().data)").wait().stdout == "hi\n"
    assert asyncio.run(belljar.arun("print(leaves().success)", tools=tools)).stdout == "False\n"


def test_whatever_a_tool_raises_or_returns_its_caller_is_answered() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    class Odd:
        @property
        def success(self) -> bool:
            raise RuntimeError("who knows")

    def surrogate() -> None:
        "Fails with what is no text."
        raise ValueError("no file \udc80")

    def mute() -> None:
        "Fails without a word."
        raise Mute

    def odd() -> Any:
        "Gives what cannot be looked at."
        return Odd()

    async def later(kind: str) -> Any:
        "The same, on a loop."
        return {"surrogate": surrogate, "mute": mute, "odd": odd}[kind]()

    def large() -> int:
        "Gives a number that is no double."
        return int(10**400)

    script = """
for answer in (surrogate(), mute(), odd(), large(), later("surrogate"), later("mute"), later("odd")):
    print(answer.success, answer.message)
"""
    result = belljar.run(script, tools=[surrogate, mute, odd, later, large], timeout=20)
    lines = result.stdout.rstrip("\n").split("\n")
    assert len(lines) == 7 and all(line.startswith("False ") for line in lines), result


def test_a_hint_that_cannot_be_read_is_refused() -> None:
    def pay(cents: Missing) -> None:  # type: ignore[name-defined]  # noqa: F821
        "Pays."

    with pytest.raises(belljar.errors.ToolError, match="cents"):
        ToolRegistry().add(pay)


def test_fields_of_a_dataclass_are_checked() -> None:
    def move(to: Point) -> float:
        "Moves."
        return to.x

    script = "print(move({'x': 1, 'y': 2}).data, move({'x': 'a', 'y': 2}).message)"
    result = belljar.run(script, tools=[move])
    assert result.stdout.startswith("1.0 ") and "x must be float" in result.stdout


def test_bounds_of_a_tool_are_bounds() -> None:
    for bounds in ({"timeout": -1}, {"timeout": float("nan")}, {"concurrency": 0}, {"budget": -1}):
        with pytest.raises(belljar.errors.ToolError, match="is invalid"):
            ToolRegistry().add(adds, **bounds)


def test_a_guest_tool_inside_of_something_keeps_its_strings() -> None:
    def told() -> str:
        """Tells."""
        return """a
        b"""

    tools = ToolRegistry().add(told, where="guest")
    assert belljar.run("emit_result(told())", tools=tools).final_data == told()


def test_a_tool_that_waits_without_awaiting_does_not_wait_for_itself() -> None:
    @belljar.tool
    async def inner(x: int) -> int:
        await asyncio.sleep(0)
        return x + 1

    @belljar.tool
    async def middle(x: int) -> Any:
        return belljar.run(f"emit_result(inner({x}).data)", tools=[inner]).final_data

    @belljar.tool
    async def outer(x: int) -> Any:
        return belljar.run(f"emit_result(middle({x}).data)", tools=[middle]).final_data

    assert belljar.run("emit_result(outer(1).data)", tools=[outer]).final_data == 2

    async def on_a_loop() -> Any:
        return belljar.run("emit_result(outer(1).data)", tools=[outer]).final_data

    assert asyncio.run(on_a_loop()) == 2
