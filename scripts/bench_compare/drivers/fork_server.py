"""`multiprocessing`'s fork server with modules preloaded: one child per job, which has run nothing before."""

import multiprocessing
import platform

import fork_server_job
from serving import serve


def main():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fork_server_job"])
    finished = []

    def job():
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=fork_server_job.run, args=("result = {'a': 1}", sender))
        child.start()
        sender.close()
        finished.append((child, receiver))
        return receiver.recv()

    def tidy():
        child, receiver = finished.pop()
        child.join()
        receiver.close()

    serve(platform.python_version(), job, tidy)
