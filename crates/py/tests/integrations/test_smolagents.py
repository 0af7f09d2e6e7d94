"""The executor for smolagents, with the real library and a scripted model."""

from __future__ import annotations

import datetime
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("smolagents", reason="smolagents is not installed")

from sleepers import Sleeper  # noqa: E402
from smolagents import (  # type: ignore[import-untyped]  # noqa: E402
    ChatMessage,
    CodeAgent,
    FinalAnswerTool,
    MessageRole,
    Model,
    tool,
)
from smolagents.local_python_executor import (  # type: ignore[import-untyped]  # noqa: E402
    InterpreterError,
)
from smolagents.serialization import SerializationError  # type: ignore[import-untyped]  # noqa: E402

from belljar.integrations.smolagents import BelljarExecutor  # noqa: E402
from conftest import eventually  # noqa: E402


class Scripted(Model):  # type: ignore[misc]
    """A model that writes each code in turn."""

    def __init__(self, *codes: str) -> None:
        super().__init__(model_id="scripted")
        self.codes = list(codes)
        self.read: list[str] = []

    def generate(self, messages: Any, **_: Any) -> ChatMessage:
        self.read.append(str(messages[-1].content))
        code = self.codes.pop(0)
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"Thought: go on.\n<code>\n{code}\n</code>")


@tool  # type: ignore[untyped-decorator]
def price(item: str, count: int = 2) -> float:
    """Looks up a price.

    Args:
        item: What is bought.
        count: How many of it.
    """
    assert os.environ["BELLJAR_TEST_HOST"] == "here"
    return {"tea": 1.5}[item] * count


@pytest.fixture
def executor() -> Iterator[BelljarExecutor]:
    with BelljarExecutor(timeout=20) as made:
        made.send_tools({"final_answer": FinalAnswerTool()})
        yield made


def test_variables_stay_and_the_last_value_is_the_output(executor: BelljarExecutor) -> None:
    assert executor("x = 20").output is None
    done = executor("print('half')\n(x, {x + 1})")
    assert done.output == (20, {21})
    assert done.logs == "half\n"
    assert not done.is_final_answer


def test_another_executor_knows_nothing_of_them(executor: BelljarExecutor) -> None:
    executor("x = 1")
    with BelljarExecutor() as other, pytest.raises(InterpreterError, match="NameError"):
        other("x")


def test_variables_that_are_sent_are_there(executor: BelljarExecutor) -> None:
    day = datetime.date(2026, 1, 2)
    executor.send_variables({"rows": [1, 2], "pair": (1, b"\0"), "day": day})
    assert executor("rows + [pair, day]").output == [1, 2, (1, b"\0"), day]
    executor.send_variables({"rows": [3]})
    assert executor("rows").output == [3]


def test_a_variable_without_a_safe_form_is_refused(executor: BelljarExecutor) -> None:
    with pytest.raises(SerializationError):
        executor.send_variables({"it": object()})


def test_final_answer_ends_the_step_and_has_the_value(executor: BelljarExecutor) -> None:
    done = executor(
        "print('a')\ntry:\n    final_answer({'k': (1, 2)})\nexcept Exception:\n    pass\nprint('b')"
    )
    assert done.is_final_answer
    assert done.output == {"k": (1, 2)}
    assert done.logs == "a\n"
    assert executor("final_answer(answer=3)").output == 3


def test_an_error_names_the_line_and_keeps_the_logs(executor: BelljarExecutor) -> None:
    with pytest.raises(InterpreterError, match="ZeroDivisionError: division by zero") as caught:
        executor("print('before')\n1 / 0")
    assert "line 2" in str(caught.value)
    assert executor.state["_print_outputs"] == "before\n"
    assert executor("1").output == 1


def test_a_timeout_is_an_error_and_variables_stay() -> None:
    with BelljarExecutor(timeout=2) as executor:
        executor("x = 1")
        with pytest.raises(InterpreterError, match="timed out after 2"):
            executor("import time\ntime.sleep(60)")
        assert executor("x").output == 1


def test_a_session_that_died_is_replaced_with_the_variables_that_were_sent() -> None:
    with BelljarExecutor() as executor:
        executor.send_variables({"sent": 1})
        executor("made = 2")
        with pytest.raises(InterpreterError, match="signaled"):
            executor("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
        done = executor("sent, 'made' in globals()")
        assert done.output == (1, False)
        assert done.logs.startswith("(The earlier session is gone")


def test_tools_run_in_this_process(executor: BelljarExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELLJAR_TEST_HOST", "here")
    executor.send_tools({"price": price, "final_answer": FinalAnswerTool()})
    assert executor("price('tea'), price('tea', 4), price(item='tea', count=1)").output == (3.0, 6.0, 1.5)
    with pytest.raises(InterpreterError, match="KeyError"):
        executor("price('gold')")
    assert executor("import os\nos.environ.get('BELLJAR_TEST_HOST')").output is None


def test_the_same_tools_again_keep_the_session(executor: BelljarExecutor) -> None:
    tools = {"price": price, "final_answer": FinalAnswerTool()}
    executor.send_tools(tools)
    executor("x = 1")
    executor.send_tools(dict(tools))
    assert executor("x").output == 1
    executor.send_tools({"final_answer": tools["final_answer"]})
    with pytest.raises(InterpreterError, match="NameError"):
        executor("price")


def test_cleaning_up_kills_what_runs() -> None:
    executor, sleeper, said = BelljarExecutor(), Sleeper(), []

    def step() -> None:
        try:
            executor(sleeper.python)
        except Exception as error:
            said.append(error)

    thread = threading.Thread(target=step)
    thread.start()
    eventually("it sleeps", sleeper.runs)
    executor.cleanup()
    thread.join(60)
    assert said
    eventually("the cell is gone", lambda: not sleeper.runs())


def test_an_agent_uses_its_tools_and_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELLJAR_TEST_HOST", "here")
    model = Scripted(
        "cost = price('tea', discount)\nprint(cost)",
        "cost / 0",
        "final_answer(cost + 1)",
    )
    with BelljarExecutor() as executor:
        agent = CodeAgent(tools=[price], model=model, executor=executor, verbosity_level=0)
        assert agent.run("What does tea cost?", additional_args={"discount": 3}) == 5.5
        assert "4.5" in model.read[1]
        assert "ZeroDivisionError" in model.read[2]
        model.codes.append("final_answer(cost)")
        assert agent.run("And without the one?", reset=False) == 4.5
