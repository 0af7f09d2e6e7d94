import io
import logging

stream = io.StringIO()
logging.basicConfig(stream=stream, format="%(levelname)s %(threadName)s %(processName)s %(module)s %(message)s", level="DEBUG")
try:
    int("x")
except ValueError:
    logging.exception("could not parse")
text = stream.getvalue().splitlines()
print(text[0])
print(text[-1])
print([line.strip() for line in text if line.startswith("    ")])
logging.captureWarnings(True)
import warnings

warnings.warn("careful")
print(stream.getvalue().splitlines()[-2].endswith("UserWarning: careful"))
