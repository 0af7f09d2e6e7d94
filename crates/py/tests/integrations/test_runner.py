"""What the tools of all libraries share: the text that a model reads, and who keeps what."""

from __future__ import annotations

from pathlib import Path

import pytest
from sleepers import DOT

import belljar
from belljar.integrations._runner import Runner, describe, pictures


def test_text_has_what_was_printed_the_last_value_and_the_result() -> None:
    text = Runner().run("print('hello')\nemit_result({'a': 1})\n6 * 7").wait().text
    assert text == 'hello\n42\nresult: {"a": 1}'


def test_text_of_a_failure_ends_with_the_line_and_the_error() -> None:
    ran = Runner().run("x = 1\nprint('before')\nx / 0").wait()
    assert ran.text.startswith("before\n")
    assert "line 3" in ran.text and "x / 0" in ran.text
    assert ran.text.endswith("ZeroDivisionError: division by zero")


def test_text_of_a_timeout_says_so_and_where() -> None:
    ran = Runner(timeout=1).run("import time\n\ntime.sleep(60)").wait()
    assert ran.result.verdict == "timeout_wall"
    assert ran.text.endswith("timeout_wall: Script timed out after 1s")
    assert "line 3" in ran.text


def test_long_text_loses_its_middle() -> None:
    result = belljar.run("print('a' * 5000 + 'b' * 5000)")
    text = describe(result, most=100)
    assert text.startswith("a" * 50) and text.endswith("b" * 50)
    assert "[9900 characters left out]" in text


def test_silence_is_text_too() -> None:
    assert Runner().run("x = 1").wait().text == "(no output)"


def test_pictures_are_counted_in_the_text_and_kept_beside_it() -> None:
    ran = Runner().run(DOT).wait()
    assert ran.text == "[1 picture]"
    (picture,) = pictures(ran.result)
    assert picture.media_type == "image/png" and picture.data.startswith(b"\x89PNG")


def test_collected_files_are_named() -> None:
    ran = Runner(collect="*.csv").run("open('a.csv', 'w').write('1,2')\nNone").wait()
    assert ran.text.endswith("files: a.csv (3 bytes)")
    assert ran.result.files["a.csv"].read_text() == "1,2"


def test_code_that_is_the_name_of_a_file_here_is_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secrets.py").write_text("print('read from this machine')")
    monkeypatch.chdir(tmp_path)
    for runner in (Runner(), Runner(True)):
        ran = runner.run("secrets.py").wait()
        assert "read from this machine" not in ran.text
        assert "NameError: name 'secrets' is not defined" in ran.text
        runner.close().wait()


def test_variables_are_kept_by_a_session_alone() -> None:
    fresh, kept = Runner(), Runner(True)
    for runner in (fresh, kept):
        runner.run("x = 41").wait()
    assert "NameError" in fresh.run("x + 1").wait().text
    assert kept.run("x + 1").wait().text == "42"
    kept.close().wait()


def test_a_session_that_died_is_replaced_and_the_model_is_told() -> None:
    runner = Runner(True)
    runner.run("x = 1").wait()
    runner.run("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)").wait()
    ran = runner.run("'x' in globals()").wait()
    assert ran.text.startswith("(The earlier session is gone")
    assert ran.text.endswith("False")
    assert runner.run("1").wait().text == "1"
    runner.close().wait()


def test_a_given_session_is_its_owners_and_is_not_replaced() -> None:
    with belljar.Session() as session:
        runner = Runner(session)
        runner.run("x = 1").wait()
        assert session.step("x + 1").wait().stdout == "2\n"
        runner.close().wait()
        assert session.is_alive
    with pytest.raises(belljar.SessionOver):
        runner.run("x").wait()


def test_a_config_beside_a_session_is_refused() -> None:
    with pytest.raises(TypeError, match="has a sandbox already"):
        Runner(belljar.Session(), memory_mb=64)
