import traceback


def level3():
    return {}["key"]


def level2():
    try:
        level3()
    except KeyError as e:
        raise ValueError("level2 failed") from e


try:
    level2()
except ValueError as e:
    for frame in traceback.extract_tb(e.__traceback__):
        print(frame.name, frame.lineno, frame.line)
    print(traceback.format_exception_only(type(e), e)[0].strip())
    print("cause:", repr(e.__cause__))
    print(len(traceback.format_exc().splitlines()))
