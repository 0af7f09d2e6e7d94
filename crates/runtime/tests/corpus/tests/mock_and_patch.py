import json
import os
from unittest import mock


def config_name():
    return os.environ.get("CONFIG", "default") + ".json"


def load():
    with open(config_name()) as f:
        return json.load(f)


with mock.patch.dict(os.environ, {"CONFIG": "test"}):
    print(config_name())
with mock.patch("builtins.open", mock.mock_open(read_data='{"a": 1}')) as opened:
    print(load(), opened.call_args)
with mock.patch("__main__.config_name", return_value="patched.json") as patched:
    try:
        load()
    except FileNotFoundError as e:
        print(e.filename, patched.call_count)
m = mock.MagicMock(side_effect=[1, ValueError("second")])
print(m("x"), m.mock_calls)
try:
    m()
except ValueError as e:
    print(e)
