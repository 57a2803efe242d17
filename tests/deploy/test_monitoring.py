"""Alerts fire when they should, and ask for metrics that the service does send."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from service.config import Config
from service.server import running
from tests.conftest import Database
from tests.service.collector import collecting

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
METRIC = re.compile(r"\b(?:durak|rpc)_[a-z_]+")
# One that is sent with the first call alone; tests/service/rpc/test_telemetry.py sees to it.
CALLS = "rpc_server_call_duration_seconds"


def prometheus_name(metric: Any) -> set[str]:
    """What an OTLP receiver of Prometheus makes of a metric."""
    name = metric.name.replace(".", "_")
    return {f"{name}_total"} if metric.HasField("sum") else {name}


def asked_for() -> set[str]:
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    alerts = (MONITORING / "alerts.yaml").read_text()
    queries += re.findall(r"expr: (?:\|\n)?((?:.*\n)(?: {10}.*\n)*)", alerts)
    return set(METRIC.findall("\n".join(queries)))


async def test_what_dashboard_and_alerts_ask_for_is_sent(
    tmp_path: Path, database: Database
) -> None:
    async with collecting() as (kept, endpoint):
        config = Config(
            data_dir=tmp_path,
            database_url=SecretStr(database.app_dsn),
            listen_port=0,
            otlp_endpoint=endpoint,
        )
        async with running(config):
            pass
    sent = set[str]().union(*map(prometheus_name, kept.metrics))
    sent |= {f"{CALLS}_count", f"{CALLS}_bucket", "rpc_method", "rpc_response_status_code"}
    asked = asked_for()
    assert {"durak_ready", "durak_checkpoints_failing", f"{CALLS}_bucket"} <= asked
    assert asked <= sent


def test_each_alert_fires_when_it_should() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    for check in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]):
        done = subprocess.run(
            [promtool, *check], cwd=MONITORING, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
