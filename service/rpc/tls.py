"""TLS: the server's certificate, read anew when its files change, so that it can be renewed."""

from pathlib import Path

import grpc


def server_credentials(certificate: Path, key: Path) -> grpc.ServerCredentials:
    """Credentials from a chain and its private key (PEM). Raises OSError where they are unreadable.

    The files are looked at on each new connection. A renewed pair that cannot be read does not
    replace the one in use.
    """
    stamp = _stamp(certificate, key)

    def renewed() -> grpc.ServerCertificateConfiguration | None:
        nonlocal stamp
        try:
            newest = _stamp(certificate, key)
            if newest == stamp:
                return None
            configuration = _configuration(certificate, key)
        except OSError:
            return None
        stamp = newest
        return configuration

    # The stubs leave out that None means "no change".
    return grpc.dynamic_ssl_server_credentials(_configuration(certificate, key), renewed)  # type: ignore[arg-type]


def _configuration(certificate: Path, key: Path) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(key.read_bytes(), certificate.read_bytes())])


def _stamp(certificate: Path, key: Path) -> tuple[int, int]:
    return certificate.stat().st_mtime_ns, key.stat().st_mtime_ns
