# files: settings.ini
import configparser
import sys

config = configparser.ConfigParser()
config.read("settings.ini")
print(config.sections(), config["server"].getint("port"), config.getboolean("server", "debug"))
print(config["server"]["timeout"], config["database"]["timeout"], config["database"]["path"])
config["new"] = {"key": "value"}
config.remove_section("database")
config.write(sys.stdout)
try:
    config.get("server", "nope")
except configparser.NoOptionError as e:
    print(e)
