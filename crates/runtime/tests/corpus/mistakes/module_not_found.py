try:
    import surely_no_such_module
except ImportError as e:
    print(type(e).__name__, e.name)

import another_missing_package  # noqa

print("not reached")
