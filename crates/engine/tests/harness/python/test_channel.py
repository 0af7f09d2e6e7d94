"""Lines over a socket, in whatever pieces they come."""

import threading
import unittest

from support import Host


class Lines(unittest.TestCase):
    def setUp(self):
        self.host = Host()
        self.addCleanup(self.host.close)

    def test_requests_are_read_one_by_one_however_they_arrive(self):
        self.host.send(b'{"type":"a"}\n{"type":"b"}\n{"ty')
        self.assertEqual(self.host.channel.receive(), {"type": "a"})
        self.assertEqual(self.host.channel.receive(), {"type": "b"})
        self.host.send(b'pe":"c"}\n')
        self.assertEqual(self.host.channel.receive(), {"type": "c"})

    def test_a_request_longer_than_a_read_is_whole(self):
        long = "x" * 1_000_000
        sender = threading.Thread(target=self.host.send, args=(b'{"script":"%s"}\n' % long.encode(),))
        sender.start()
        self.assertEqual(self.host.channel.receive(), {"script": long})
        sender.join()

    def test_a_host_that_hangs_up_is_told_from_a_request(self):
        self.host.send(b'{"half')
        self.host.hang_up()
        self.assertIsNone(self.host.channel.receive())

    def test_a_frame_ends_half_a_line_that_was_left(self):
        self.host.channel.send(b'{"type":"ready"}')
        self.assertEqual(self.host._ours.recv(100), b'\n{"type":"ready"}\n')


if __name__ == "__main__":
    unittest.main()
