"""How a guest finds the program that it becomes, and the places that it makes for it."""

import os
import resource
import tempfile
import unittest

from support import harness

commands = harness.commands


class Commands(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.home.name)

    def program(self, path, mode=0o755):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n")
        os.chmod(path, mode)

    def test_a_name_is_looked_for_in_the_programs_own_path(self):
        self.program("bin/tool")
        self.assertEqual(commands._find("tool", {"PATH": "none:bin"}), "bin/tool")
        self.assertIsNone(commands._find("tool", {"PATH": "none"}))

    def test_an_empty_path_finds_nothing_and_an_empty_entry_is_this_directory(self):
        self.program("tool")
        for environment in ({}, {"PATH": ""}):
            self.assertIsNone(commands._find("tool", environment))
        self.assertEqual(commands._find("tool", {"PATH": "none::other"}), "./tool")

    def test_what_cannot_be_run_is_passed_over(self):
        self.program("one/tool", 0o644)
        os.makedirs("two/tool")
        self.program("three/tool")
        self.assertEqual(commands._find("tool", {"PATH": "one:two:three"}), "three/tool")

    def test_places_are_made_through_no_link(self):
        root = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, root)
        os.close(commands._make(root, "a/b"))
        self.assertTrue(os.path.isdir("a/b"))
        os.symlink("/tmp", "a/link")
        for place in ("a/link", "a/link/below"):
            with self.assertRaises(commands.Refused):
                commands._make(root, place)

    def test_a_limit_on_files_that_is_in_force_is_kept_and_only_ever_lowered(self):
        for before, asked, after in ((4096, 1 << 32, 4096), (1 << 32, 4096, 4096)):
            self.assertEqual(limited(before, asked), (after, after))


def limited(before, asked):
    """The limits of a process that had one before. A child is asked: nobody but root can raise it again."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setresuid(65534, 65534, 65534)
            resource.setrlimit(resource.RLIMIT_FSIZE, (before, before))
            commands._limit_files(asked)
            os.write(writing, "{} {}".format(*resource.getrlimit(resource.RLIMIT_FSIZE)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as said:
        return tuple(map(int, said.read().split()))
