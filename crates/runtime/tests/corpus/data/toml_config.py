# files: config.toml
# python: 3.11
import tomllib

with open("config.toml", "rb") as f:
    config = tomllib.load(f)
print(config["title"], config["owner"]["born"].year)
for server in config["servers"]:
    print(server["name"], sum(server["ports"]))
try:
    tomllib.loads("x = ")
except tomllib.TOMLDecodeError as e:
    print("TOMLDecodeError:", e)
