"""Bytes to and from tools of the host's. As JSON they are `{"__bytes__": "…base64…"}`."""

import binascii

KEY = "__bytes__"


class ToolBytes(bytes):
    """Bytes that a tool gave, and what they are, if it said so."""

    __module__ = "__main__"
    media_type = None

    def _repr_mimebundle_(self, include=None, exclude=None):
        kind = self.media_type
        if kind is None:
            return {}
        is_text = kind.startswith("text/") or kind in ("application/json", "image/svg+xml")
        return {kind: self.decode("utf-8", "replace") if is_text else bytes(self)}


def unpacked(data):
    """A copy with bytes in their places."""
    if isinstance(data, list):
        return [unpacked(item) for item in data]
    if not isinstance(data, dict):
        return data
    encoded = data.get(KEY)
    if not isinstance(encoded, str) or not data.keys() <= {KEY, "media_type"}:
        return {key: unpacked(item) for key, item in data.items()}
    try:
        found = ToolBytes(binascii.a2b_base64(encoded))
    except ValueError:
        return data
    kind = data.get("media_type")
    found.media_type = kind if isinstance(kind, str) else None
    return found


def content(value):
    """What a file has in it. A path or an open file may stand for its bytes."""
    if hasattr(value, "read_bytes"):
        return value.read_bytes()
    if hasattr(value, "read"):
        value = value.read()
    return value.encode("utf-8") if isinstance(value, str) else value
