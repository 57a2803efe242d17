"""`durak health`: asks a service whether it is well, for health checks of containers."""

import asyncio
from typing import Any, Final

import click
from grpc import aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from service.cli.client import ServerUnreachable
from service.cli.endpoint import Endpoint, endpoint_of
from service.cli.exits import CommandError
from service.cli.options import CERTIFICATE, PLAINTEXT, SERVER, with_options
from service.config import Config
from service.rpc.health import LIVENESS, READINESS

_SECONDS_MAX: Final = 3.0


@click.command("health")
@click.argument("question", type=click.Choice([READINESS, LIVENESS]), default=READINESS)
@with_options(SERVER, CERTIFICATE, PLAINTEXT)
def health_command(question: str, **given: Any) -> None:  # noqa: ANN401 - the options above
    """Ask whether the service takes calls (readiness), or works at all (liveness).

    Without --server it asks the service on this machine, at `DURAK_HEALTH_PORT` if that is set.
    The exit code is 0 if the answer is yes, 1 if it is no, and 3 if there is none.
    """
    config = Config()
    if given["server"] is None and config.health_port is not None:
        endpoint = Endpoint(f"{config.listen_host}:{config.health_port}", None)
    else:
        endpoint = endpoint_of(given, config)
    answer = HealthCheckResponse.ServingStatus.Name(asyncio.run(_ask(endpoint, question)))
    click.echo(f"{question}: {answer}")
    if answer != "SERVING":
        raise CommandError(f"the service at {endpoint.address} does not serve")


async def _ask(endpoint: Endpoint, question: str) -> int:
    async with endpoint.channel() as channel:
        stub: Any = HealthStub(channel)
        request = HealthCheckRequest(service=question)
        try:
            answer: HealthCheckResponse = await stub.Check(request, timeout=_SECONDS_MAX)
        except aio.AioRpcError as error:
            raise ServerUnreachable(
                f"the service at {endpoint.address} does not answer: {error.details()}"
            ) from error
    return answer.status
