# python: 3.11
def validate(record):
    errors = []
    for key in ("name", "age", "mail"):
        if key not in record:
            errors.append(KeyError(key))
    if not isinstance(record.get("age"), int):
        errors.append(TypeError("age"))
    if errors:
        raise ExceptionGroup("invalid record", errors)


try:
    validate({"name": "x"})
except* KeyError as group:
    print("missing:", [e.args[0] for e in group.exceptions])
except* TypeError as group:
    print("wrong type:", [e.args[0] for e in group.exceptions])

validate({})
