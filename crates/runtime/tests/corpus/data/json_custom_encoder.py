import datetime
import decimal
import json
from dataclasses import asdict, dataclass, is_dataclass


@dataclass
class Point:
    x: int
    y: int


class Encoder(json.JSONEncoder):
    def default(self, o):
        if is_dataclass(o):
            return {"__type__": type(o).__name__, **asdict(o)}
        if isinstance(o, (datetime.date, datetime.datetime)):
            return o.isoformat()
        if isinstance(o, decimal.Decimal):
            return str(o)
        if isinstance(o, set):
            return sorted(o)
        return super().default(o)


value = {"p": Point(1, 2), "d": datetime.date(2024, 2, 29), "m": decimal.Decimal("1.10"), "s": {3, 1, 2}}
text = json.dumps(value, cls=Encoder)
print(text)
print(json.loads(text, object_hook=lambda d: Point(d["x"], d["y"]) if d.get("__type__") == "Point" else d))
json.dumps(object(), cls=Encoder)
