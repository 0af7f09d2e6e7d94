import json
import logging
import logging.config


class JsonFormatter(logging.Formatter):
    def format(self, record):
        return json.dumps({"level": record.levelname.lower(), "msg": record.getMessage(), "where": record.name, **getattr(record, "extra", {})})


class NoSecrets(logging.Filter):
    def filter(self, record):
        return "password" not in record.getMessage()


logging.config.dictConfig({
    "version": 1,
    "formatters": {"json": {"()": JsonFormatter}},
    "filters": {"safe": {"()": NoSecrets}},
    "handlers": {"out": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout", "formatter": "json", "filters": ["safe"]}},
    "root": {"level": "DEBUG", "handlers": ["out"]},
})
logging.info("started", extra={"extra": {"port": 80}})
logging.info("password is hunter2")
logging.getLogger("db").debug("query")
