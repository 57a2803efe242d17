"""The TLS certificate of the server, read again when its files change."""

from pathlib import Path

import grpc


def server_credentials(certificate: Path, key: Path) -> grpc.ServerCredentials:
    """Return the credentials of a certificate chain and its private key (PEM files).

    Every new connection checks whether the files have changed. A new pair that cannot be read does
    not replace the one in use. Raises OSError if the files cannot be read at the start.
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
