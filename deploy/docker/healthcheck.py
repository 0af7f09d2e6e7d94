"""Whether the server in this container answers. Docker runs it, see the Dockerfile."""

import socket
import ssl
import sys

ADDRESS = ("127.0.0.1", 8720)
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
PATIENCE = 4  # seconds, for each way


def answer(speaks_tls: bool) -> bytes:
    """The first bytes of the answer; nothing, if this is not what the server speaks."""
    try:
        with socket.create_connection(ADDRESS, PATIENCE) as plain:
            if not speaks_tls:
                plain.sendall(REQUEST)
                return plain.recv(64)
            # It is this very container: whose certificate it shows does not matter.
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with context.wrap_socket(plain, server_hostname="localhost") as secure:
                secure.sendall(REQUEST)
                return secure.recv(64)
    except OSError:
        return b""


if __name__ == "__main__":
    is_well = any(answer(speaks_tls).startswith(b"HTTP/1.1 200 ") for speaks_tls in (False, True))
    sys.exit(0 if is_well else 1)
