"""Ctrl-C reaches the script that is under way, and no other."""

import os
import signal
import unittest

import support
from support import harness, request


class Interrupts(unittest.TestCase):
    def setUp(self):
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))

    def between_scripts(self):
        host = support.Host()
        self.addCleanup(host.close)
        return host, harness.interrupts.Interrupts(host.channel)

    def test_a_script_is_interrupted_and_the_next_one_is_not(self):
        frames = support.run(
            request("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass"),
            request("emit_result(1)"),
        )
        kinds = [frame["type"] for frame in frames]
        self.assertEqual(kinds, ["error", "script_done", "final_result", "script_done"])
        self.assertIn("KeyboardInterrupt", frames[0]["message"])

    def test_an_interrupt_that_comes_before_its_script_begins_is_kept_for_it(self):
        host, interrupts = self.between_scripts()
        host.send(b'{"type":"execute"}\n{"type":"interrupt","seal":"s-1"}\n')
        os.kill(os.getpid(), signal.SIGINT)
        self.assertEqual(host.channel.receive(), {"type": "execute"})
        with self.assertRaises(KeyboardInterrupt):
            interrupts.begin("s-1")
        interrupts.end()

    def test_an_interrupt_that_comes_after_its_script_is_forgotten(self):
        host, interrupts = self.between_scripts()
        host.send(b'{"type":"interrupt","seal":"s-1"}\n')
        os.kill(os.getpid(), signal.SIGINT)
        host.send(b'{"type":"execute"}\n')
        interrupts.begin("s-2")
        interrupts.end()
        # The announcement is in front of the request, which serving skips.
        self.assertEqual([host.channel.receive()["type"] for _ in range(2)], ["interrupt", "execute"])

    def test_an_announcement_alone_interrupts_nothing(self):
        host, interrupts = self.between_scripts()
        host.send(b'{"type":"interrupt","seal":"s-1"}\n')
        interrupts.begin("s-1")
        interrupts.end()

    def test_half_an_announcement_and_a_host_that_is_gone_are_no_announcement(self):
        host, interrupts = self.between_scripts()
        host.send(b'{"type":"interrupt","se')
        host.hang_up()
        os.kill(os.getpid(), signal.SIGINT)
        interrupts.begin("s-1")
        interrupts.end()

    def test_the_handler_of_a_script_is_there_again_in_the_next_step(self):
        _, interrupts = self.between_scripts()
        interrupts.begin("s-1")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        interrupts.end()
        self.assertNotEqual(signal.getsignal(signal.SIGINT), signal.SIG_IGN)
        interrupts.begin("s-2")
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.SIG_IGN)
        interrupts.end()


if __name__ == "__main__":
    unittest.main()
