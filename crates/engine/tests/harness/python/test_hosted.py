"""Calls of the host's tools: who reads the channel, and what a signal in the middle leaves."""

import asyncio
import importlib
import json
import os
import signal
import threading
import unittest

from support import Host, harness, request

importlib.import_module("belljar_harness.hosted")
calls = importlib.import_module("belljar_harness.calls")


class Answering(Host):
    """A host that answers every call with its own arguments, from a thread."""

    def __init__(self, hold=()):
        super().__init__()
        self.hold, self.calls = set(hold), []
        self.has_called = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def _answer(self):
        for line in self._ours.makefile("rb"):
            frame = json.loads(line) if line.strip() else {}
            if frame.get("type") == "tool_call":
                self.calls.append(frame)
                if frame["call_id"] not in self.hold:
                    self.answer(frame)
                self.has_called.release()

    def answer(self, frame):
        answer = {"type": "tool_result", "call_id": frame["call_id"], "success": True, "message": ""}
        try:
            self.send(json.dumps({**answer, "data": frame["args"]}).encode() + b"\n")
        except BrokenPipeError:
            pass  # Nobody waited for it.

    def close(self):
        self._theirs.shutdown(2)
        self._thread.join()
        super().close()


class Calls(unittest.TestCase):
    def setUp(self):
        self.calls = calls.Calls()
        self.addCleanup(setattr, harness.execution, "calls", None)
        self.addCleanup(setattr, harness.execution, "running", None)

    def begin(self, host):
        self.addCleanup(host.close)
        self.execution = harness.execution.Execution(host.channel, request())
        harness.execution.running = self.execution
        return host

    def test_many_threads_and_loops_get_what_is_theirs(self):
        self.begin(Answering())
        wrong = []

        def many(first):
            for number in range(first, first + 100):
                if self.calls.wait_for("t", {"n": number})[1] != {"n": number}:
                    wrong.append(number)

        async def gather(first):
            answers = await asyncio.gather(
                *(self.calls.answer_to("t", {"n": n}) for n in range(first, first + 100))
            )
            wrong.extend(n for n, answer in enumerate(answers, first) if answer[1] != {"n": n})

        threads = [threading.Thread(target=many, args=(n * 1000,)) for n in range(4)]
        threads += [threading.Thread(target=lambda n=n: asyncio.run(gather(n * 1000))) for n in range(5, 7)]
        for thread in threads:
            thread.start()
        many(9000)
        asyncio.run(gather(10_000))
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(self.calls._waiting, {})

    def test_a_long_answer_is_read_in_pieces(self):
        self.begin(Answering())
        text = "ü" * 500_000
        self.assertEqual(self.calls.wait_for("t", {"text": text})[1], {"text": text})

    def test_signals_in_the_middle_lose_nobodys_answer(self):
        class Ring(Exception):
            pass

        def ring(_number, _frame):
            raise Ring

        host = self.begin(Answering())
        old = signal.signal(signal.SIGALRM, ring)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        got, rung = [], 0

        def others():
            for number in range(300):
                got.append(self.calls.wait_for("t", {"n": number})[1]["n"])

        thread = threading.Thread(target=others)
        thread.start()
        while thread.is_alive():
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0003)
                for _ in range(1000):
                    self.calls.wait_for("t", {"text": "x" * 2000})
            except Ring:
                rung += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        thread.join()
        self.assertEqual(got, list(range(300)))
        self.assertGreater(rung, 0)
        self.assertGreater(len(host.calls), 300)

    def test_the_end_of_a_script_lets_everybody_go(self):
        host = self.begin(Answering(hold=(1, 2)))
        said = []
        threads = [
            threading.Thread(target=lambda: said.append(self.calls.wait_for("t", {})[2])) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        host.has_called.acquire()
        host.has_called.acquire()
        self.calls.give_up(self.execution)
        for thread in threads:
            thread.join()
        self.assertEqual(said, ["the script that called this tool is over"] * 2)
        with self.assertRaisesRegex(RuntimeError, "was over"):
            self.calls.wait_for("t", {})
        # The next script calls as if nothing had been. What answers the old calls is nobody's.
        harness.execution.running = harness.execution.Execution(host.channel, request())
        host.answer(host.calls[0])
        self.assertEqual(self.calls.wait_for("t", {"n": 1})[1], {"n": 1})

    def test_a_loop_of_an_old_script_takes_nothing_of_the_next_request(self):
        host = self.begin(Answering(hold=(1,)))
        loop, said = asyncio.new_event_loop(), []
        waiting = loop.create_task(self.calls.answer_to("t", {}))
        thread = threading.Thread(target=lambda: said.append(loop.run_until_complete(waiting)[2]))
        thread.start()
        host.has_called.acquire()
        self.calls.give_up(self.execution)
        # The loop may still watch the channel, and see that something came.
        host.send(b'{"type":"execute"}\n')
        self.calls._look(host.channel)
        self.assertEqual(host.channel.receive()["type"], "execute")
        thread.join()
        loop.close()
        self.assertEqual(said, ["the script that called this tool is over"])

    def test_what_was_read_ahead_is_there_for_the_next_request(self):
        host = self.begin(Answering())
        self.calls.wait_for("t", {})
        host.channel._landing[:12] = b'{"type":"x"}'
        host.send(b'\n{"type":"y"}\n')
        self.assertEqual([host.channel.receive()["type"] for _ in range(2)], ["x", "y"])
        self.assertTrue(os.get_blocking(host.channel.descriptor))


if __name__ == "__main__":
    unittest.main()
