import io
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator


def app(environ, start_response):
    name = environ.get("QUERY_STRING", "").partition("name=")[2] or "world"
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    return [f"Hello, {name}!\n".encode()]


def call(query):
    environ, seen = {}, []
    setup_testing_defaults(environ)
    environ["QUERY_STRING"] = query
    body = validator(app)(environ, lambda status, headers, exc_info=None: seen.append(status) or io.BytesIO().write)
    data = b"".join(body)
    body.close()
    return seen[0], data.decode().strip()


print(call(""))
print(call("name=ada"))
