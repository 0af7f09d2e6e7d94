"""Packs a wheel of the Python package from what was built.

With a native module and its launcher it is for this machine alone, and for tests: they use what the
other tests have built. With `--glibc` it is for every machine with that glibc or a later one, and
nothing that needs a later one is packed. Without a module it is the wheel for machines where nothing
can run.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "crates/py"


def main() -> None:
    """Packs it, and prints where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", type=Path)
    parser.add_argument("--launcher", type=Path)
    parser.add_argument("--glibc", help="the oldest that it is for, such as 2.28")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    for program in filter(None, [given.module, given.launcher]):
        check_glibc(program, given.glibc)
    version = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    platform = f"manylinux_{given.glibc.replace('.', '_')}_x86_64" if given.glibc else "linux_x86_64"
    tag = f"cp39-abi3-{platform}" if given.module else "py3-none-any"
    entries = {
        str(file.relative_to(PACKAGE / "python")): (file.read_bytes(), 0o644)
        for file in sorted((PACKAGE / "python").rglob("*"))
        if file.suffix in (".py", ".pyi", ".typed") and "__pycache__" not in file.parts
    }
    with tempfile.TemporaryDirectory() as place:
        if given.module:
            module = with_weak_python(stripped(given.module, place))
            entries["belljar/_belljar.abi3.so"] = (module, 0o755)
        if given.launcher:
            entries[f"belljar-{version}.data/scripts/belljar"] = (stripped(given.launcher, place), 0o755)
    info = f"belljar-{version}.dist-info"
    entries[f"{info}/METADATA"] = (metadata(version).encode(), 0o644)
    pure = "false" if given.module else "true"
    wheel = f"Wheel-Version: 1.0\nGenerator: belljar\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
    points = "[inspect_ai]\nbelljar = belljar.integrations.inspect_ai\n"
    entries[f"{info}/entry_points.txt"] = (points.encode(), 0o644)
    entries[f"{info}/WHEEL"] = (wheel.encode(), 0o644)
    entries[f"{info}/RECORD"] = (record(entries, f"{info}/RECORD").encode(), 0o644)
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"belljar-{version}-{tag}.whl"
    # For tests, time counts more than size.
    level = 9 if given.glibc else 1
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as packed:
        for name, (content, mode) in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, content)
    print(path)


def stripped(program: Path, place: str) -> bytes:
    """What a debugger needs is most of it."""
    out = Path(place) / program.name
    subprocess.run(["strip", "--strip-unneeded", "-o", out, program], check=True)
    return out.read_bytes()


def with_weak_python(module: bytes) -> bytes:
    """The module is also the command (`crates/py/src/command.rs`). Run as a program, it must not fail
    for want of Python's functions: those that it does not define are made weak."""
    WEAK, TYPE, SYMBOL = 2, 0xF, struct.Struct("<IBBHQQ")
    DYNSYM, SECTION = 11, struct.Struct("<IIQQQQIIQQ")
    patched = bytearray(module)
    table, size, count = *struct.unpack_from("<Q", module, 0x28), *struct.unpack_from("<HH", module, 0x3A)
    sections = [SECTION.unpack_from(module, table + number * size) for number in range(count)]
    (symbols,) = [section for section in sections if section[1] == DYNSYM]
    names = sections[symbols[6]][4]
    for place in range(symbols[4], symbols[4] + symbols[5], SYMBOL.size):
        name, info, other, defined, value, length = SYMBOL.unpack_from(module, place)
        text = module[names + name : module.index(b"\0", names + name)]
        if defined == 0 and text.startswith((b"Py", b"_Py")):
            SYMBOL.pack_into(patched, place, name, WEAK << 4 | info & TYPE, other, defined, value, length)
    return bytes(patched)


def check_glibc(program: Path, oldest: str | None) -> None:
    """Refuses a program that needs a later glibc than the wheel says."""
    if not oldest:
        return
    listed = subprocess.run(
        ["readelf", "--version-info", program], check=True, capture_output=True, text=True
    )
    needed = {
        tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+(?:\.\d+)+)", listed.stdout)
    }
    if max(needed, default=(0,)) > tuple(map(int, oldest.split("."))):
        sys.exit(f"{program} needs glibc {'.'.join(map(str, max(needed)))}, which is later than {oldest}")


def metadata(version: str) -> str:
    """What installers and package indexes read."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"Keywords: {','.join(project['keywords'])}",
        f"License-Expression: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Classifier: {name}" for name in project["classifiers"]),
        *(f"Project-URL: {name}, {url}" for name, url in project["urls"].items()),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + "\n\n" + (PACKAGE / project["readme"]).read_text()


def record(entries: dict[str, tuple[bytes, int]], own: str) -> str:
    """Hashes of all entries but this one."""
    lines = []
    for name, (content, _) in entries.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{own},,"]) + "\n"


if __name__ == "__main__":
    main()
