"""An agent in ten lines: a model writes scripts, and reads how they ended.

The model here answers from a list. Put a call to yours in its place. It prints:

    NameError: name 'sales' is not defined
    ok
    {'best': 'south'}
"""

import belljar

FIRST = "emit_result(max(sales))"
SECOND = """
rows = dict(line.split(",") for line in open("sales.csv"))
emit_result({"best": max(rows, key=lambda region: int(rows[region]))})
"""
replies = iter([FIRST, SECOND])


def model(messages: list[dict]) -> str:
    return next(replies)


messages = [{"role": "user", "content": "Which region of sales.csv sold most? Call emit_result."}]
with belljar.Sandbox(timeout=10, memory_mb=128) as sandbox:
    for _ in range(3):
        script = model(messages)
        result = sandbox.run(script, files={"sales.csv": "north,3\nsouth,5\n"}, mode="plan").wait()
        print(result.error or result.verdict)
        if result.success:
            break
        messages += [{"role": "assistant", "content": script}, {"role": "user", "content": result.traceback}]
print(result.final_data)
