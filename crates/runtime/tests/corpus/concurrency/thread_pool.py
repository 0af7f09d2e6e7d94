from concurrent.futures import ThreadPoolExecutor, TimeoutError, as_completed
import threading


def task(n):
    if n == 3:
        raise ValueError("three is bad")
    return n**2


with ThreadPoolExecutor(max_workers=4, thread_name_prefix="pool") as executor:
    print(list(executor.map(task, [0, 1, 2])))
    futures = {executor.submit(task, n): n for n in range(5)}
    results = {}
    for f in as_completed(futures):
        try:
            results[futures[f]] = f.result()
        except ValueError as e:
            results[futures[f]] = str(e)
    print(sorted(results.items()))
    gate = threading.Event()
    waiting = executor.submit(gate.wait)
    try:
        waiting.result(timeout=0.02)
    except TimeoutError:
        print("still waiting")
    gate.set()
    print(waiting.result())
