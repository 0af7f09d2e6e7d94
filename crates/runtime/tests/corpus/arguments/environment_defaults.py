# args: --user ada
import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("--user", default=os.environ.get("APP_USER", "nobody"))
parser.add_argument("--home", default=os.getenv("APP_HOME", "/nowhere"))
args = parser.parse_args()
os.environ["APP_USER"] = args.user
print(vars(args))
print(os.path.expandvars("user is $APP_USER, unknown is $NO_SUCH_VARIABLE_HERE"))
print("PATH" in os.environ, "HOME" in os.environ, bool(os.environ.get("HOME")))
