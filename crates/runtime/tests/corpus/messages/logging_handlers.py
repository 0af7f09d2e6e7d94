import logging
import logging.handlers
from pathlib import Path

log = logging.getLogger("rotating")
log.setLevel(logging.DEBUG)
handler = logging.handlers.RotatingFileHandler("app.log", maxBytes=120, backupCount=2)
handler.setFormatter(logging.Formatter("%(levelname)-8s %(message)s"))
log.addHandler(handler)
for i in range(12):
    log.log(logging.INFO if i % 2 else logging.WARNING, "message number %d", i)
handler.close()
for p in sorted(Path(".").glob("app.log*")):
    print(p.name, p.read_text().splitlines())
