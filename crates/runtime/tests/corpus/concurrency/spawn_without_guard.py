# A well-known mistake: without the guard each child starts children of its own.
import multiprocessing as mp


def f():
    print("hello from the child", flush=True)


ctx = mp.get_context("spawn")
p = ctx.Process(target=f)
p.start()
p.join()
print("exit code", p.exitcode)
