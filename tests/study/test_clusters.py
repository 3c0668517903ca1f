"""Sweeps on clusters: a real dask cluster of which a worker is killed, and ray."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import study_jobs as jobs

from dovetail.study import ray_executor, sweep

CASES = [{"x": x} for x in range(60)]


def test_dask_with_a_worker_killed_on_the_way(tmp_path):
    distributed = pytest.importorskip("distributed", reason="install distributed to test sweeps on dask")
    out = tmp_path / "study.jsonl"
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        here = str(Path(jobs.__file__).parent)
        client.run(lambda: __import__("sys").path.insert(0, here))
        victim = next(iter(client.run(os.getpid).values()))

        def kill() -> None:
            while not (out.exists() and out.read_text().count("\n") > 10):
                time.sleep(0.01)
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        rows = sweep(jobs.slow, CASES, out, client.get_executor())
        killer.join()
    assert [row["y"] for row in rows] == list(range(1, 61))
    assert sorted(json.loads(line)["case"] for line in out.read_text().splitlines()) == list(range(60))


def test_ray(tmp_path):
    ray = pytest.importorskip("ray", reason="install ray to test sweeps on it")
    here = os.pathsep.join([str(Path(jobs.__file__).parent), os.environ.get("PYTHONPATH", "")])
    ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": here}}, log_to_driver=False)
    try:
        rows = sweep(jobs.square, CASES[:6], tmp_path / "study.jsonl", ray_executor())
    finally:
        ray.shutdown()
    assert [row["error"] is None for row in rows] == [True, True, True, False, True, True]
    assert rows[5]["square"] == 25.0
