import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = """
import sys, time
from pathlib import Path
from penstock.core.domain.job_spec import JobSpec, Limits
from penstock.spark.cpu import reporting_settings, reports_cpu
from penstock.spark.embedded import EmbeddedCluster
from penstock.spark.executors import ExecutorPool
from penstock.spark.graphite import GraphiteCpu
from penstock.spark.jvm import StatusStore
from penstock.spark.session import open_session

folder = Path(sys.argv[1])
cluster = EmbeddedCluster.join(folder / "cluster")
reported = GraphiteCpu()
job = JobSpec(name="far", folder=str(folder), checkpoint=str(folder), sources=(), queries=(), master=cluster.master, limits=Limits(max_executors=1))
assert reports_cpu(job)
session = open_session(job, folder, cluster.master, folder / "spark.log", more=reporting_settings(job, reported))
try:
    reported.listen_to(session.sparkContext.applicationId)
    pool = ExecutorPool(session, StatusStore(session), 1)
    deadline = time.monotonic() + 90
    heard = []
    while len(heard) < 3 and time.monotonic() < deadline:
        session.range(2_000_000).selectExpr("sum(hash(id))").collect()
        counted = [reported.cpu_s(each) for each in pool.running()]
        if counted and counted[0] is not None and counted[0] not in heard:
            heard.append(counted[0])
    print(heard)
finally:
    session.stop()
    reported.close()
    cluster.close()
    cluster.wait_gone(20)
"""


@pytest.mark.spark
@pytest.mark.long
def test_real_executors_report_a_cpu_time_that_grows_while_they_work(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", DRIVER, str(tmp_path)], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    heard = [float(each) for each in done.stdout.strip().splitlines()[-1].strip("[]").split(", ")]
    assert len(heard) == 3 and 0 < heard[0] < heard[1] < heard[2]
