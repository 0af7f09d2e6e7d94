"""The `belljar` command that comes with the package: the native module, run as a program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import belljar
from belljar.runtime import command

HERE = Path(sysconfig.get_path("scripts")) / "belljar"

if not HERE.is_file():
    pytest.skip("the package was not installed from a wheel", allow_module_level=True)


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HERE, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, **options
    )


def test_it_is_the_module_and_knows_its_arguments() -> None:
    program = command()
    assert program is not None and program.name == "_belljar.abi3.so"
    for words in ([HERE], [program], [sys.executable, "-m", "belljar"]):
        said = subprocess.run([*words, "--version"], capture_output=True, text=True, timeout=60)
        assert said.stdout == f"belljar {belljar.__version__}\n", said.stderr
    refused = run("run", "--no-such-option")
    assert refused.returncode == 2 and "--no-such-option" in refused.stderr


def test_it_runs_scripts_and_hands_their_exit_code_on(tmp_path: Path) -> None:
    done = run("run", "-c", "import sys; print('hi'); sys.exit(7)")
    assert (done.returncode, done.stdout) == (7, "hi\n"), done.stderr
    # Constructors have run: those of Rust know the environment and the arguments, ours the helper.
    done = run(
        "run",
        "-c",
        "import os; print(os.environ['A'])",
        "--env",
        "A=é",
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
    )
    assert done.stdout == "é\n", done.stderr


def test_a_reader_who_has_gone_is_not_the_end() -> None:
    printing = subprocess.Popen(
        [HERE, "run", "-c", "for number in range(200000): print(number)"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert printing.stdout is not None and printing.stderr is not None
    printing.stdout.readline()
    printing.stdout.close()
    printing.stderr.read()
    assert printing.wait(120) >= 0, "it must not be killed by SIGPIPE"


def test_the_launcher_finds_it_where_pip_puts_packages(tmp_path: Path) -> None:
    module = command()
    assert module is not None
    for place in ("belljar", "lib/python3.9/site-packages/belljar", "lib64/python3.12/site-packages/belljar"):
        prefix = tmp_path / place.replace("/", "-")
        (prefix / "bin").mkdir(parents=True)
        shutil.copy(HERE, prefix / "bin/belljar")
        alone = subprocess.run([prefix / "bin/belljar", "--version"], capture_output=True, text=True)
        assert alone.returncode == 3 and "install it again" in alone.stderr
        (prefix / place).mkdir(parents=True)
        (prefix / place / module.name).symlink_to(module)
        said = subprocess.run([prefix / "bin/belljar", "--version"], capture_output=True, text=True)
        assert said.stdout.startswith("belljar "), said.stderr
