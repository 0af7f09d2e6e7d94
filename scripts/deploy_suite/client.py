"""A client of the server in a container, with nothing but Python's own library."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any

# How long anything may take that should take a moment, in seconds.
PATIENCE = 30.0


class Failed(Exception):
    """A claim that does not hold."""


def expect(holds: bool, expected: str, seen: Any) -> None:
    if not holds:
        raise Failed(f"expected {expected}; saw {seen}")


def wait_until(what: str, is_so: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Asks until the answer is something."""
    deadline = time.monotonic() + patience
    while not (answer := is_so()):
        expect(time.monotonic() < deadline, what, f"nothing of it within {patience:.0f} s")
        time.sleep(0.05)
    return answer


class Client:
    """Speaks to one server, as the owner of a token."""

    def __init__(self, port: int, speaks_tls: bool = False):
        self.port, self.speaks_tls, self.token = port, speaks_tls, ""
        # The name that it says, if that is not the address.
        self.host = ""

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> http.client.HTTPResponse:
        """Sends a request. The answer may be read as it comes."""
        if self.speaks_tls:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            line = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=context)
        else:
            line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        said = {"Content-Type": "application/json", **headers}
        if self.token:
            said["Authorization"] = f"Bearer {self.token}"
        if self.host:
            said["Host"] = self.host
        line.request(method, path, None if body is None else json.dumps(body), said)
        return line.getresponse()

    def get(self, path: str) -> Any:
        return self._json("GET", path)

    def post(self, path: str, body: Any) -> Any:
        return self._json("POST", path, body)

    def _json(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.ask(method, path, body)
        said = answer.read()
        try:
            return json.loads(said)
        except ValueError:
            raise Failed(f"{path} answers {answer.status} without JSON: {said[:300]!r}") from None

    def run(self, script: str, **fields: Any) -> dict[str, Any]:
        """A run from its beginning to its result, or the problem with it."""
        return self.post("/v1/runs", {"script": script, **fields})

    def begin(self, script: str) -> Iterator[dict[str, Any]]:
        """A run's events as they come."""
        answer = self.ask("POST", "/v1/runs", {"script": script}, Accept="application/x-ndjson")
        return (json.loads(line) for line in answer)

    def is_ready(self) -> bool:
        try:
            return self.ask("GET", "/readyz").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def inactive(self) -> set[str]:
        """The protections that are not in force, by what the server says of itself."""
        told = self.get("/v1/status")["protections"]
        expect(len(told) >= 14, "14 protections", told)
        return {each["name"] for each in told if not each["is_active"]}
