"""Alerts fire when they should. Dashboard and alerts query only metrics that the service sends."""

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

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "deploy" / "monitoring"
METRIC = re.compile(r"\b(?:durak|rpc)_[a-z_]+")
# Sent only after the first call. tests/service/rpc/test_telemetry.py tests this metric.
CALLS = "rpc_server_call_duration_seconds"


def prometheus_name(metric: Any) -> set[str]:
    """Return the name that Prometheus' OTLP receiver gives to a metric."""
    name = metric.name.replace(".", "_")
    return {f"{name}_total"} if metric.HasField("sum") else {name}


def queried() -> set[str]:
    """Return the names of the metrics in the queries of dashboard and alerts."""
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    alerts = (MONITORING / "alerts.yaml").read_text()
    queries += re.findall(r"expr: (?:\|\n)?((?:.*\n)(?: {10}.*\n)*)", alerts)
    return set(METRIC.findall("\n".join(queries)))


async def test_every_metric_of_dashboard_and_alerts_is_sent(
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
    names = queried()
    assert {"durak_ready", "durak_checkpoints_failing", f"{CALLS}_bucket"} <= names
    assert names <= sent


def test_the_log_lines_that_alerts_name_are_written() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "service").rglob("*.py"))
    named = re.findall(r'(?:log lines?|and) "([a-z ]+)"', (MONITORING / "alerts.yaml").read_text())
    assert {"call failed", "not ready", "no checkpoint"} <= set(named)
    assert [line for line in named if f'"{line}"' not in sources] == []


def test_each_alert_fires_when_it_should() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    for check in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]):
        done = subprocess.run(
            [promtool, *check], cwd=MONITORING, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
