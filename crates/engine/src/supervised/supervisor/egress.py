"""How guests reach the hosts their config allows.

The proxy serves a listener on this container's loopback.
"""

import contextlib
import os
import resource
import socket


def open_listener(settings):
    """Makes a listener on this container's loopback and gives it to the proxy.

    From then on only the proxy has it, so it closes when the proxy ends. Later connections are
    refused at once.
    """
    with socket.create_server(("127.0.0.1", settings["port"]), backlog=128) as listener:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as proxy:
            proxy.settimeout(20)
            proxy.connect(settings["socket"])
            with _raised_file_limit():
                socket.send_fds(proxy, [b"\n"], [listener.fileno()])
            answer = proxy.recv(256)
            if answer != b"ok\n":
                raise ConnectionError(
                    f"the proxy did not take the listener: {answer.decode('utf-8', 'replace').strip()}"
                )


@contextlib.contextmanager
def _raised_file_limit():
    """Raises the limit on open files, so that this process can send a descriptor.

    The kernel counts the descriptors in flight of all processes with this user id, guests included.
    It compares their number with the limit of the sender.
    """
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))


def trust(authority, bundle_file):
    """Writes the image's certificates and one more authority to `bundle_file`.

    The container's environment points there. Guests can write there too, because they have the same
    user id.
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
