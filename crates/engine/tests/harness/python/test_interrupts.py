"""Ctrl-C reaches the script that is under way, and no other."""

import os
import signal
import unittest

import support
from support import harness, request


class Interrupts(unittest.TestCase):
    def setUp(self):
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))

    def test_a_script_is_interrupted_and_the_next_one_is_not(self):
        frames = support.run(
            request("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass"),
            request("emit_result(1)"),
        )
        kinds = [frame["type"] for frame in frames]
        self.assertEqual(kinds, ["error", "script_done", "final_result", "script_done"])
        self.assertIn("KeyboardInterrupt", frames[0]["message"])

    def test_an_interrupt_before_the_request_is_read_is_kept_for_it(self):
        host = support.Host()
        self.addCleanup(host.close)
        interrupts = harness.interrupts.Interrupts(host.channel)
        host.send(b'{"type":"execute"}\n')
        os.kill(os.getpid(), signal.SIGINT)
        host.channel.receive()
        with self.assertRaises(KeyboardInterrupt):
            interrupts.begin()
        interrupts.end()

    def test_an_interrupt_between_two_scripts_is_forgotten(self):
        host = support.Host()
        self.addCleanup(host.close)
        interrupts = harness.interrupts.Interrupts(host.channel)
        os.kill(os.getpid(), signal.SIGINT)
        # As if it had been a while ago.
        interrupts._came_at -= 2 * harness.interrupts.A_MOMENT
        host.send(b'{"type":"execute"}\n')
        host.channel.receive()
        interrupts.begin()
        interrupts.end()

    def test_an_interrupt_just_before_the_request_is_noted_belongs_to_it(self):
        host = support.Host()
        self.addCleanup(host.close)
        interrupts = harness.interrupts.Interrupts(host.channel)
        os.kill(os.getpid(), signal.SIGINT)
        interrupts._is_early = False
        host.channel.begun_at = interrupts._came_at + 1
        with self.assertRaises(KeyboardInterrupt):
            interrupts.begin()
        interrupts.end()

    def test_the_handler_of_a_script_is_there_again_in_the_next_step(self):
        host = support.Host()
        self.addCleanup(host.close)
        interrupts = harness.interrupts.Interrupts(host.channel)
        interrupts.begin()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        interrupts.end()
        self.assertNotEqual(signal.getsignal(signal.SIGINT), signal.SIG_IGN)
        interrupts.begin()
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.SIG_IGN)
        interrupts.end()


if __name__ == "__main__":
    unittest.main()
