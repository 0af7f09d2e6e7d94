def launch():
    """Runs the program in this file's place, as `python FILE` would: with nothing in its variables.

    The file has the program by now, and not this.
    """
    import linecache
    import sys

    path, variables = __file__, globals()
    linecache.cache.pop(path, None)
    sys.argv[0] = path.rpartition("/")[2]
    # Python translates no line ends of its standard input here.
    sys.stdin.reconfigure(newline="\n")
    here = sys._getframe()
    ours = here.f_code, here.f_back.f_code
    for name in [name for name in variables if not (name.startswith("__") and name.endswith("__"))]:
        del variables[name]
    variables.update(__cached__=None, __annotations__={})

    def tell(kind, error, entry):
        while entry is not None and entry.tb_frame.f_code in ours:
            entry = entry.tb_next
        default(kind, error.with_traceback(entry), entry)

    default, sys.excepthook = sys.excepthook, tell
    with open(path, "rb") as file:
        source = file.read()
    # The error of a program that cannot be compiled has no frames, and so no traceback.
    exec(compile(source, path, "exec", dont_inherit=True), variables)


launch()
