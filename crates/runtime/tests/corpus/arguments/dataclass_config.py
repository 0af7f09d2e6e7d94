# args: --set lr=0.01 --set layers=3 --set name=tiny --set shuffle=true
import argparse
import dataclasses
import json


@dataclasses.dataclass
class Config:
    lr: float = 0.1
    layers: int = 1
    name: str = "base"
    shuffle: bool = False

    def override(self, pairs):
        types = {f.name: f.type for f in dataclasses.fields(self)}
        for pair in pairs:
            key, _, raw = pair.partition("=")
            if key not in types:
                raise SystemExit(f"unknown key {key}")
            kind = types[key]
            value = raw.lower() in ("1", "true", "yes") if kind is bool else kind(raw)
            setattr(self, key, value)
        return self


p = argparse.ArgumentParser()
p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
config = Config().override(p.parse_args().set)
print(json.dumps(dataclasses.asdict(config), indent=2, sort_keys=True))
