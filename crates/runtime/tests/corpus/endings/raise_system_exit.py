class Abort(SystemExit):
    pass


try:
    raise Abort(9)
except SystemExit as e:
    print("caught", type(e).__name__, e.code)

raise SystemExit(300)  # Only the lowest 8 bits arrive.
