"""TLS by the server itself: a renewed certificate is read on SIGHUP, and one that is broken is not used."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path

from .client import Client, expect, wait_until
from .image import Image, granted


def certificate(place: Path) -> None:
    """Makes a new key and a certificate for it."""
    kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    out = ["-keyout", str(place / "key.pem"), "-out", str(place / "cert.pem"), "-subj", "/CN=localhost"]
    subprocess.run(["openssl", *kind, *out], check=True, capture_output=True)
    # That of the container is another user than whoever tests this.
    for name in ("key.pem", "cert.pem"):
        (place / name).chmod(0o644)


def shown(client: Client) -> str:
    """The certificate that the server shows."""
    return ssl.get_server_certificate(("127.0.0.1", client.port)).strip()


def a_renewed_certificate_is_read_on_sighup(image: Image) -> None:
    place = Path(tempfile.mkdtemp(prefix="belljar-tls."))
    place.chmod(0o755)
    try:
        certificate(place)
        options = [*granted("The least"), "--volume", f"{place}:/tls:ro", "--health-interval", "1s"]
        container = image.start(options, "--tls-cert", "/tls/cert.pem", "--tls-key", "/tls/key.pem")
        client = container.client()
        first = (place / "cert.pem").read_text().strip()
        expect(shown(client) == first, "the certificate", shown(client))
        certificate(place)
        second = (place / "cert.pem").read_text().strip()
        expect(shown(client) == first, "the first certificate until SIGHUP", shown(client))
        container.signal("HUP")
        wait_until("the second certificate", lambda: shown(client) == second)
        (place / "cert.pem").write_text("nothing\n")
        container.signal("HUP")
        wait_until("a warning", lambda: "the old certificate stays" in container.log())
        expect(shown(client) == second, "the second certificate", shown(client))
        expect(client.run("emit_result(6 * 7)").get("final_data") == 42, "42", "something else")
        wait_until("a healthy container", lambda: container.state("Health.Status") == "healthy")
    finally:
        shutil.rmtree(place)


TLS = (a_renewed_certificate_is_read_on_sighup,)
