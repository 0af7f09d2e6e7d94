import logging
import sys

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s:%(name)s:%(funcName)s:%(lineno)d:%(message)s")
log = logging.getLogger("app.core")


def divide(a, b):
    log.debug("not shown")
    log.info("dividing %s by %s", a, b)
    try:
        return a / b
    except ZeroDivisionError:
        log.error("division by zero")
    return None


divide(4, 2)
divide(1, 0)
log.warning("%s", {"key": [1, 2]})
print(logging.getLogger().handlers[0].stream is sys.stdout)
