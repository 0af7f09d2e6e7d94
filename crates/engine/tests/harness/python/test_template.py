"""What cells share: modules imported ahead, the report to the host. Tools have a file of their own."""

import importlib
import os
import random
import sys
import unittest

from support import Place, harness

forks, template = harness.forks, harness.template
preload, trial = (importlib.import_module(f"belljar_harness.{name}") for name in ("preload", "trial"))


class Preloads(Place):
    def distribution(self, name, files, **metadata):
        info = f"{name.replace('-', '_')}-1.0.dist-info"
        self.write(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        for file, text in metadata.items():
            self.write(f"{info}/{file}.txt", text)
        for file in files:
            self.write(file, "")
        self.write(f"{info}/RECORD", "".join(f"{file},,\n" for file in files))

    def test_a_requirement_brings_the_modules_of_its_distribution(self):
        self.distribution("Big-Tool", ["big/__init__.py", "big_extra.py", "_private.py", "big-data/x.py"])
        self.distribution("listed", ["other.py"], top_level="one\ntwo\n")
        modules = preload.modules_of("big_tool[fast]>=1,<2", self.place)
        self.assertEqual(modules, {"big": True, "big_extra": True})
        self.assertEqual(preload.modules_of(" listed ", self.place), {"one": True, "two": True})
        self.assertEqual(preload.modules_of("absent", self.place), {})

    def test_what_has_another_name_than_its_distribution_matters_less(self):
        self.distribution("duck", ["adbc_duck/__init__.py", "duck/__init__.py", "bin/run.py"])
        self.assertEqual(preload.modules_of("duck", self.place), {"adbc_duck": False, "duck": True})

    def settings(self, **named):
        layout = {"layer": self.place, "scratch": [self.place]}
        return {"layout": layout, "preload": None, "dependencies": [], **named}

    def test_a_module_that_cannot_be_imported_is_a_warning(self):
        warnings, vouched = preload.preload(self.settings(preload=["json", "not_there_at_all"]))
        self.assertEqual(len(warnings), 1)
        self.assertIn("preloading not_there_at_all failed: ModuleNotFoundError", warnings[0])
        self.assertIsNone(vouched)

    def test_what_was_vouched_for_is_imported_at_once_and_no_more_vouched_for_if_it_fails(self):
        self.assertEqual(preload.preload(self.settings(vouched=["json"])), ([], ["json"]))
        warnings, vouched = preload.preload(self.settings(vouched=["json", "not_there_at_all"]))
        self.assertEqual((len(warnings), vouched), (1, None))


class Trials(Place):
    def setUp(self):
        super().setUp()
        sys.path.insert(0, self.place)
        self.addCleanup(sys.path.remove, self.place)

    def tried(self, *names):
        return [(name, problem and problem.text) for name, problem in trial.tried(list(names), [self.place])]

    def test_the_next_trial_begins_behind_the_module_that_failed(self):
        self.write("tried_one.py", "x = 1")
        self.write("tried_two.py", "import tried_one\nraise ValueError(tried_one.x)")
        self.write("tried_three.py", "import tried_one")
        outcomes = self.tried("tried_one", "tried_two", "tried_three")
        self.assertEqual(
            outcomes, [("tried_one", None), ("tried_two", "ValueError: 1"), ("tried_three", None)]
        )
        self.assertFalse([name for name in sys.modules if name.startswith("tried_")])

    def test_a_module_that_never_ends_is_given_up(self):
        self.write("tried_endless.py", "import signal\nsignal.pause()")
        self.write("tried_after.py", "")
        self.addCleanup(setattr, trial, "BUDGET", trial.BUDGET)
        trial.BUDGET = 0.5
        first, second = self.tried("tried_endless", "tried_after")
        self.assertIn("it takes longer than", first[1])
        self.assertEqual(second[1], "the modules before it took too long")

    @unittest.skipUnless(os.path.exists("/proc/self/maps"), "there is no /proc here")
    def test_a_file_that_stays_mapped_is_noticed(self):
        self.write("data.bin", "x" * 100)
        self.write(
            "tried_map.py",
            f"""
            import mmap
            with open({self.place!r} + "/data.bin", "r+b") as file:
                kept = mmap.mmap(file.fileno(), 0)
            """,
        )
        # Where Python keeps a descriptor for the map, that is noticed first.
        self.assertIn("data.bin", self.tried("tried_map")[0][1])


class Reports(unittest.TestCase):
    def test_a_report_is_bounded_and_says_what_it_leaves_out(self):
        shared = template.Template()
        shared.tools = [f"tool_{number:05}" for number in range(10_000)]
        shared.warnings = ["w" * 600] * 60
        report = template.report(shared)
        self.assertEqual(report["warnings"][-2], "10 more warnings are not listed")
        self.assertIn("tools can be called but are not listed", report["warnings"][-1])
        self.assertLess(sum(len(name) + 4 for name in report["tools"]), template.MOST_TOOL_BYTES)

    def test_a_line_of_somebody_elses_is_one_line(self):
        line = harness.traces.one_line("a\n b\t\ud800" + "x" * 2000)
        self.assertEqual(line[:7], "a b ?xx")
        self.assertEqual(len(line), harness.traces.LONGEST_LINE + 1)


class Randomness(unittest.TestCase):
    def test_generators_without_a_seed_are_seeded_anew_and_others_are_not(self):
        with forks.Generators() as generators:
            seeded, unseeded, later = random.Random(1), random.Random(), random.Random()
            later.seed(2)
        before = seeded.getstate(), unseeded.getstate(), later.getstate()
        generators.seed_anew()
        self.assertEqual((seeded.getstate(), later.getstate()), (before[0], before[2]))
        self.assertNotEqual(unseeded.getstate(), before[1])
        self.assertIs(random.Random.seed, generators._seed)


if __name__ == "__main__":
    unittest.main()
