# files: shapes.py toolkit
import runpy
import sys

runpy.run_path("shapes.py", run_name="__main__")
print(runpy.run_path("shapes.py")["PI_ISH"])
sys.argv = ["toolkit", "10", "20"]
runpy.run_module("toolkit", run_name="__main__", alter_sys=True)
print(__name__, sys.modules["__main__"].__file__ == __file__)
