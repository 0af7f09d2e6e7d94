"""Prepares an image for Belljar's containers. Runs as root while the image is built."""

import compileall
import json
import os
import shutil
import sys

HOME = os.path.dirname(os.path.abspath(__file__))
GUEST_ID = 1000


def give_up(reason):
    print(f"belljar: {reason}", file=sys.stderr)
    sys.exit(1)


def stage(layer):
    """Makes a directory that the installer may fill. The installer runs without privileges."""
    os.makedirs(layer, exist_ok=True)
    os.chown(layer, GUEST_ID, GUEST_ID)


def image():
    with open(f"{HOME}/template.json", encoding="utf-8") as file:
        settings = json.load(file)
    layout = settings["layout"]
    check_python(settings["python"])
    add_identity("/etc/passwd", f"sandbox:x:{GUEST_ID}:{GUEST_ID}:sandbox:{layout['workspace']}:/bin/sh\n")
    add_identity("/etc/group", f"sandbox:x:{GUEST_ID}:\n")
    # A memory file system mounted over a directory takes on its mode.
    for place, mode in (("workspace", 0o1777), ("belljar", 0o1777), ("tools", 0o755), ("layer", 0o755)):
        os.makedirs(layout[place], exist_ok=True)
        os.chmod(layout[place], mode)
    add_fonts("/etc/fonts/fonts.conf")
    # Compiled now, because nothing can be written there later.
    for place in (HOME, layout["tools"], layout["layer"]):
        compileall.compile_dir(place, quiet=2)


def check_python(wanted):
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 9):  # noqa: UP036 (the image may have any)
        give_up(f"the base image has Python {found}; 3.9 or later is needed")
    if wanted and not (found + ".").startswith(wanted + "."):
        give_up(f"the base image has Python {found}, and the config asks for python_version {wanted}")
    try:
        import ctypes  # noqa: F401
    except ImportError:
        give_up("the base image's Python has no ctypes, without which its containers cannot be secured")


def add_fonts(path):
    """Settings for programs that look for fonts, unless the image has its own."""
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(f"{HOME}/fonts.conf", path)
        os.chmod(path, 0o644)


def add_identity(path, line):
    lines = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
    number = [str(GUEST_ID)]
    kept = [entry for entry in lines if entry.split(":")[0] != "sandbox" and entry.split(":")[2:3] != number]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines([*kept, line])


{"stage": stage, "image": image}[sys.argv[1]](*sys.argv[2:])
