"""Makes an image ready to be a container of ours; runs while it is built, as root."""

import compileall
import json
import os
import sys

USER = "sandbox:x:1000:1000:sandbox:/workspace:/bin/sh\n"
GROUP = "sandbox:x:1000:\n"


def give_up(reason):
    print(f"belljar: {reason}", file=sys.stderr)
    sys.exit(1)


def stage():
    """A place that the installer, who is nobody special, may fill."""
    os.makedirs("/opt/pydeps", exist_ok=True)
    os.chown("/opt/pydeps", 1000, 1000)


def image():
    check_python()
    for path, line, number in (("/etc/passwd", USER, "1000"), ("/etc/group", GROUP, "1000")):
        add_identity(path, line, number)
    # A memory file system mounted over a directory takes on its mode.
    for place, mode in (("/workspace", 0o1777), ("/run/belljar", 0o1777), ("/tools", 0o755), ("/opt/pydeps", 0o755)):
        os.makedirs(place, exist_ok=True)
        os.chmod(place, mode)
    # Compiled here, because nobody can write there later.
    for place in ("/opt/belljar", "/tools", "/opt/pydeps"):
        compileall.compile_dir(place, quiet=2)


def check_python():
    with open("/opt/belljar/template.json", encoding="utf-8") as file:
        wanted = json.load(file)["python"]
    found = "%d.%d.%d" % sys.version_info[:3]
    if sys.version_info < (3, 9):
        give_up(f"the base image has Python {found}; 3.9 or later is needed")
    if wanted and not (found + ".").startswith(wanted + "."):
        give_up(f"the base image has Python {found}, and the config asks for python_version {wanted}")
    try:
        import ctypes  # noqa: F401
    except ImportError:
        give_up("the base image's Python has no ctypes, without which its containers cannot be secured")


def add_identity(path, line, number):
    lines = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
    kept = [entry for entry in lines if entry.split(":")[0] != "sandbox" and entry.split(":")[2:3] != [number]]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines([*kept, line])


{"stage": stage, "image": image}[sys.argv[1]]()
