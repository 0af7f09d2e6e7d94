"""A trainer's way to ask: one request for each case of an answer, many at a time."""

import concurrent.futures
import time

import requests

KEYS = {"status", "compile_result", "run_result"}


def case(url, code, stdin, expected, language="python", seconds=10):
    """One case, with the table by which the trainer reads the reply."""
    body = {
        "compile_timeout": 30,
        "run_timeout": seconds,
        "code": code,
        "stdin": stdin,
        "memory_limit_MB": 1024,
        "language": language,
        "files": {},
        "fetch_files": [],
    }
    for attempt in range(3):
        reply = requests.post(f"{url}/run_code", json=body, timeout=30 + seconds + 10)
        if reply.status_code != 504:
            break
        time.sleep(attempt + 1)
    reply.raise_for_status()
    told = reply.json()
    assert KEYS <= told.keys()
    compiled, ran = told["compile_result"], told["run_result"]
    if told["status"] == "Failed":
        if compiled and (compiled["status"] != "Finished" or compiled["return_code"] != 0):
            return -4
        if ran["status"] == "TimeLimitExceeded":
            return -3
        assert ran["return_code"] != 0, "a failure with the code 0 has no place in the table"
        return -2
    assert told["status"] == "Success" and ran["status"] == "Finished"
    return expected is None or ran["stdout"].rstrip("\n") == expected.rstrip("\n")


def all_cases(url, cases, workers=32):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda one: case(url, *one), cases))


def test_each_result_of_the_table(url):
    assert case(url, "print(input())", "a\n", "a") is True
    assert case(url, "print(input())", "a\n", "b") is False
    assert case(url, "print(undefined)", "", "") == -2
    assert case(url, "while True: pass", "", "", seconds=1) == -3
    assert case(url, "int main() {", "", "", "cpp") == -4


def test_a_hundred_cases_at_once(url):
    code = """import time
n = int(input())
if n % 25 == 3:
    time.sleep(60)
print(n if n not in (10, 20, 30) else "wrong")"""
    results = all_cases(url, [(code, f"{n}\n", str(n), "python", 5) for n in range(100)])
    expected = [-3 if n % 25 == 3 else n not in (10, 20, 30) for n in range(100)]
    assert results == expected


def test_a_hundred_programs_that_never_end(url):
    began = time.monotonic()
    assert all_cases(url, [("while True: pass", "", "", "python", 10)] * 100, workers=100) == [-3] * 100
    # The trainer gives up after 30 s, if nothing else is busy here.
    print(f"100 programs that never end: {time.monotonic() - began:.2f} s")


def test_a_hundred_cases_of_one_program_in_cpp(url):
    code = "#include <iostream>\nint main() { int n; std::cin >> n; std::cout << n * n << '\\n'; }"
    began = time.monotonic()
    results = all_cases(url, [(code, f"{n}\n", str(n * n), "cpp", 10) for n in range(100)])
    assert results == [True] * 100
    print(f"100 cases of one program in C++: {time.monotonic() - began:.2f} s")


def test_the_prelude_that_function_calls_are_wrapped_in(url):
    names = "string re datetime collections heapq bisect copy math random statistics itertools functools io"
    prelude = "".join(f"from {name} import *\n" for name in names.split())
    code = f"{prelude}import sys, json\nprint(json.dumps(list(accumulate(json.loads(sys.stdin.read())))))"
    assert case(url, code, "[1, 2, 3]", "[1, 3, 6]") is True
