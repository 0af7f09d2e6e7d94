"""Grades many small programs at once, each in a sandbox of its own.

It prints:

    right      accepted
    right      accepted
    wrong      wrong answer: '6\\n'
    crashes    exception: ZeroDivisionError: division by zero
    hangs      timeout_...
    floods     output
    exits      exited: code 3
    reads      exception: FileNotFoundError: ...
"""

from concurrent.futures import ThreadPoolExecutor

import belljar

CASE = {"stdin": "2 3\n", "answer": "5"}
PROGRAMS = [
    ("right", "print(sum(map(int, input().split())))"),
    ("right", "a, b = map(int, input().split())\nprint(a + b)"),
    ("wrong", "a, b = map(int, input().split())\nprint(a * b)"),
    ("crashes", "print(1 / 0)"),
    ("hangs", "while True: pass"),
    ("floods", "while True: print('x' * 1000)"),
    ("exits", "import sys; sys.exit(3)"),
    ("reads", "print(open('/etc/shadow').read())"),
]


def grade(program: str) -> str:
    """What becomes of a program, in a few words."""
    result = sandbox.run(program, stdin=CASE["stdin"], timeout=10, cpu_time=0.5).wait()
    if result.success:
        is_right = result.stdout.split() == CASE["answer"].split()
        return "accepted" if is_right else f"wrong answer: {result.stdout!r}"
    if result.verdict == "exited":
        return f"exited: code {result.exit_code}"
    return f"exception: {result.error}" if result.verdict == "exception" else result.verdict


with belljar.Sandbox(memory_mb=128) as sandbox, ThreadPoolExecutor(4) as graders:
    verdicts = graders.map(grade, [program for _, program in PROGRAMS])
    for (name, _), verdict in zip(PROGRAMS, verdicts):
        print(f"{name:10} {verdict}")
