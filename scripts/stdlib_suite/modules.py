"""Which modules of the test package are run, and why some are not."""

import pathlib

TESTS = pathlib.Path("/usr/lib/python3.11/test")

# One reason each. Whatever merely skips itself (no display, no Internet, another operating system)
# is run and counted as skipped.
NOT_RUN = {
    "test_bigmem": "wants more memory than a small machine has",
    "test_cppext": "compiles C++ in a new virtual environment",
    "test_gdb": "a debugger attached to Python; attaching is refused in every sandbox",
    "test_idle": "an editor with windows, which Debian ships apart",
    "test_lib2to3": "minutes of parsing, nothing that a sandbox could change",
    "test_peg_generator": "minutes of compiling C, nothing that a sandbox could change",
    "test_regrtest": "tests of the test runner that is replaced here",
    "test_tools": "tests of CPython's source tree, which Debian does not ship",
}

# Packages whose parts run on their own, because together they take longer than a module may.
SPLIT = ("test_asyncio",)

# What touches the kernel most; an interrupted run has the interesting part behind it.
FIRST = """
    test_os test_posix test_subprocess test_socket test_ssl test_signal test_threading test_tempfile test_tarfile test_zipfile test_shutil
    test_locale test_time test_zoneinfo test_mmap test_ctypes test_select test_selectors test_epoll test_poll test_fcntl
    test_asyncio.test_subprocess test_asyncio.test_events test_asyncio.test_streams test_asyncio.test_unix_events test_pathlib test_pty
    test_openpty test_ioctl test_pwd test_grp test_resource test_eintr test_socketserver test_httpservers test_urllib2_localnet test_uuid
    test_hashlib test_secrets test_random test_platform test_logging test_faulthandler test_io test_file test_stat test_glob test_dbm
    test_multiprocessing_fork test_multiprocessing_spawn test_multiprocessing_forkserver test_concurrent_futures test_venv
""".split()


def names(tests=TESTS):
    """Every module that is run, the most interesting ones first."""
    found = set()
    for path in tests.glob("test_*"):
        name = path.name.removesuffix(".py")
        if name in SPLIT:
            found.update(f"{name}.{part.stem}" for part in path.glob("test_*.py"))
        elif path.suffix == ".py" or (path / "__init__.py").exists():
            found.add(name)
    found -= NOT_RUN.keys()
    first = [name for name in FIRST if name in found]
    return first + sorted(found - set(first))
