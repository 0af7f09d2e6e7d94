"""The published client of SandboxFusion."""

import base64

import pytest
import sandbox_fusion
from sandbox_fusion import RunCodeRequest, run_code

BROKEN = "int main() { return x; }"
DOUBLE = "#include <iostream>\nint main() { int n; std::cin >> n; std::cout << 2 * n; }"


@pytest.fixture(autouse=True)
def endpoint(url):
    sandbox_fusion.set_endpoint(url)


def ran(**fields):
    return run_code(RunCodeRequest(**fields), max_attempts=1)


def test_a_program_runs():
    answer = ran(code="print(input()[::-1])", language="python", stdin="grüß")
    assert answer.status == sandbox_fusion.RunStatus.Success
    assert (answer.run_result.stdout, answer.run_result.return_code) == ("ßürg\n", 0)
    assert answer.run_result.execution_time > 0 and answer.compile_result is None


def test_a_program_is_compiled():
    answer = ran(code=DOUBLE, language="cpp", stdin="21", compile_timeout=30)
    assert (answer.run_result.stdout, answer.compile_result.return_code) == ("42", 0)
    answer = ran(code=BROKEN, language="cpp", compile_timeout=30)
    assert answer.status == sandbox_fusion.RunStatus.Failed
    assert answer.run_result is None and "not declared" in answer.compile_result.stderr


def test_a_program_fails_without_an_exception_in_the_client():
    answer = ran(code="raise SystemExit(3)", language="python")
    assert (answer.status, answer.run_result.return_code) == (sandbox_fusion.RunStatus.Failed, 3)
    answer = ran(code="while True: pass", language="python", run_timeout=1)
    assert answer.run_result.status == sandbox_fusion.CommandRunStatus.TimeLimitExceeded
    assert answer.run_result.return_code is None


def test_files_go_in_and_come_out():
    data = base64.b64encode(b"\x00\xff").decode()
    answer = ran(
        code="open('b', 'wb').write(open('a', 'rb').read() * 2)",
        language="python",
        files={"a": data},
        fetch_files=["b", "missing"],
    )
    assert {name: base64.b64decode(content) for name, content in answer.files.items()} == {
        "b": b"\x00\xff\x00\xff"
    }


def test_what_the_server_does_not_know_is_an_error_in_the_client():
    with pytest.raises(Exception, match="422"):
        ran(code="1", language="python2")


def test_many_at_once():
    requests = [[RunCodeRequest(code=f"print({n})", language="python")] for n in range(50)]
    answers = sandbox_fusion.run_concurrent(run_code, args=requests, concurrency=16)
    assert [answer.run_result.stdout for answer in answers] == [f"{n}\n" for n in range(50)]
