"""A port for several processes of this service."""

import socket
from typing import Final, Self

from service.rpc.port import StartError


class ReservedPort:
    """A port that several processes of this service listen on, and no other program.

    With SO_REUSEPORT any program of the same user could join a port, also by mistake. So the parent
    listens alone first, which fails if anyone else listens. It also allows its children to join,
    and stops listening when the first of them does. From then on it only keeps the port.
    """

    def __init__(self, host: str, port: int) -> None:
        """Reserve a port of the first address of `host`; 0 for any. Raises StartError."""
        self._listening: socket.socket | None = None
        try:
            found = socket.getaddrinfo(
                host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            family, _, _, _, address = found[0]
            self._listening = socket.socket(family)
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listening.bind(address)
            self._listening.listen()
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self.number: Final[int] = self._listening.getsockname()[1]
            self._kept = socket.socket(family)
            self._kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self._kept.bind(self._listening.getsockname())
        except OSError as error:
            self.stop_listening()
            raise StartError(f"{host}:{port} cannot be listened on: is the port taken?") from error

    def stop_listening(self) -> None:
        """Leave the connections to the processes that listen by now."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_listening()
        self._kept.close()
