"""What the package must not do to the scripts that share its interpreter."""

import ast
import os
import sys
import unittest

from support import PACKAGE, harness


class House(unittest.TestCase):
    def test_modules_are_found_by_their_package_only(self):
        names = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
        ours = {name for name in sys.modules if name.startswith("belljar_harness.")}
        self.assertEqual(ours, {f"belljar_harness.{name}" for name in names})
        self.assertNotIn(str(PACKAGE), sys.path)

    def test_only_the_standard_library_is_imported(self):
        known = getattr(sys, "stdlib_module_names", None)
        if known is None:
            self.skipTest("this Python does not know its own modules")
        for path in PACKAGE.glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module]
                for name in names:
                    self.assertIn(name.split(".")[0], known, f"{path.name} imports {name}")

    def test_what_modules_import_first_is_in_the_library(self):
        """A module of the standard library that is loaded between ours costs every cell pages."""
        for path in PACKAGE.glob("*.py"):
            # The last two are loaded only where cells become programs, and those run nothing of ours.
            if path.stem in ("forks", "library", "commands", "terminals"):
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Import):
                    for alias in node.names:
                        self.assertTrue(
                            hasattr(harness.library, alias.name.split(".")[0]), f"{path.name}: {alias.name}"
                        )

    def test_fork_hooks_are_kept_back_until_there_is_a_cell(self):
        self.assertIs(os.register_at_fork, harness.forks._keep)


if __name__ == "__main__":
    unittest.main()
