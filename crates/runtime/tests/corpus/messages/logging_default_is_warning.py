import logging

# Without any configuration: only warnings and worse, and these to stderr.
logging.info("not shown")
logging.warning("shown on stderr")
logging.getLogger("x").error("this as well")
print(logging.getLogger().level, logging.getLevelName(30), logging.root.handlers != [])
