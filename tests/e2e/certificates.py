"""Certificates made for a test by `openssl`, and engines and clients that speak TLS with them."""
import os
import pathlib
import ssl
import subprocess

from support import Worker

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Authority:
    """Signs certificates; everything lies in one directory."""

    def __init__(self, directory, name="ca"):
        self.directory, self.name = pathlib.Path(directory), name
        self.certificate, self.key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        openssl("req", "-x509", *KEY, "-days", 2, "-subj", f"/CN=test authority {name}", "-keyout", self.key, "-out", self.certificate)

    def issue(self, name, subject="IP:127.0.0.1,DNS:localhost", days=2):
        """Paths of a certificate and its key."""
        certificate, key = self.directory / f"{self.name}-{name}.pem", self.directory / f"{self.name}-{name}.key"
        request, extension = certificate.with_suffix(".csr"), certificate.with_suffix(".ext")
        extension.write_text(f"subjectAltName={subject}\n")
        openssl("req", "-new", *KEY, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-days", days,
                "-extfile", extension, "-out", certificate)
        return certificate, key


def replace(path, source):
    """As deployment tools do it: a new file takes the name."""
    fresh = pathlib.Path(f"{path}.new")
    fresh.write_bytes(pathlib.Path(source).read_bytes())
    os.rename(fresh, path)


class TlsWorker(Worker):
    """An engine that speaks https, and wants a certificate that `clients` signed, if given. Remembers who came."""

    def __init__(self, pair, clients=None, **options):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*pair)
        if clients:
            self.context.load_verify_locations(clients)
            self.context.verify_mode = ssl.CERT_REQUIRED
        self.visitors = []
        super().__init__(**options)
        self.url = self.url.replace("http://", "https://")

    def serve(self, sock):
        try:
            secure = self.context.wrap_socket(sock, server_side=True)
        except (OSError, ssl.SSLError):
            self.open.discard(sock)
            sock.close()
            return
        self.open.discard(sock)
        self.open.add(secure)
        shown = secure.getpeercert()
        self.visitors.append(dict(part[0] for part in shown["subject"])["commonName"] if shown else None)
        super().serve(secure)
