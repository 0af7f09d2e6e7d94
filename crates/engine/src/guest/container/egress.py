"""How guests reach the hosts their config allows.

The proxy serves a listener on this container's loopback.
"""

import contextlib
import os
import resource
import socket


def open_listener(settings):
    """Makes a listener on this container's loopback and gives it to the proxy.

    Only the proxy has it from then on, so it goes with the proxy. Whoever connects later is refused
    at once.
    """
    with socket.create_server(("127.0.0.1", settings["port"]), backlog=128) as listener:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as proxy:
            proxy.settimeout(20)
            proxy.connect(settings["socket"])
            with _more_on_its_way():
                socket.send_fds(proxy, [b"\n"], [listener.fileno()])
            answer = proxy.recv(256)
            if answer != b"ok\n":
                raise ConnectionError(
                    f"the proxy did not take the listener: {answer.decode('utf-8', 'replace').strip()}"
                )


@contextlib.contextmanager
def _more_on_its_way():
    """Lets our descriptor pass, however many guests with our user id have on their way.

    The kernel compares their number with the limit of the sender.
    """
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))


def trust(authority, bundle_file):
    """Writes the image's certificates and one authority more to where the variables of this container point.

    Guests can write there too: they have our user id.
    """
    of_the_image = (
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
    )
    bundle = ""
    for path in of_the_image:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                bundle = file.read()
            break
    with open(bundle_file, "w", encoding="utf-8") as file:
        file.write(f"{bundle}\n{authority}")
