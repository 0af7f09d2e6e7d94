"""Runs the examples of the chapter about graders. What follows a command must be part of its answer."""

import json
import pathlib
import re
import subprocess

CHAPTER = pathlib.Path(__file__).parents[4] / "docs/guide/graders.md"
ADDRESS = "http://127.0.0.1:8720"


def test_the_chapter_about_graders_tells_the_truth(url):
    blocks = re.findall(r"```(\w+)\n(.*?)```", CHAPTER.read_text(), re.DOTALL)
    commands = 0
    for (language, command), (following, expected) in zip(blocks, blocks[1:]):
        if language != "sh" or not command.startswith("curl"):
            continue
        assert following == "json", command
        command = command.replace(ADDRESS, url)
        said = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
        assert_part(json.loads(expected), json.loads(said), said)
        commands += 1
    assert commands == 3


def assert_part(expected, told, said):
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert_part(value, told[name], said)
    elif isinstance(expected, list):
        assert len(expected) == len(told), said
        for one, other in zip(expected, told):
            assert_part(one, other, said)
    else:
        assert expected == told, said
