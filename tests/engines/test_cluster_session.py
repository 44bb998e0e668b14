"""Sessions with a scheduler in this process or none; workers that are processes are in tests/analysis."""

import logging
import socket
import warnings

import pytest

import haarbor as hb
from haarbor.engines import ClusterEngine, _cluster_session

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def threads():
    """A scheduler and two workers that are threads of this process: quick to start."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL, protocol="tcp",
    ) as cluster:  # fmt: skip
        yield cluster


def squared(number):
    return number * number


def warned(number):
    warnings.warn(f"about {number}", hb.errors.AffinityWarning, stacklevel=1)
    return number


def refused(number):
    raise hb.DataError(f"{number} must not be; found it. Take another.")


def broken(number):
    return 1 // number


def test_every_task_is_done_and_told_with_its_place(threads):
    with ClusterEngine(threads.scheduler_address).session() as session:
        assert sorted(session.completed(squared, [3, 1, 4, 1, 5])) == [
            (0, 9),
            (1, 1),
            (2, 16),
            (3, 1),
            (4, 25),
        ]
        assert len(session.workers()) == 2
        assert list(session.completed(squared, [])) == []


def test_warnings_of_workers_are_given_here(threads):
    with (
        ClusterEngine(threads.scheduler_address).session() as session,
        pytest.warns(hb.errors.AffinityWarning, match="about 7"),
    ):
        assert list(session.completed(warned, [7])) == [(0, 7)]


def test_what_a_worker_refuses_is_raised_here_as_it_is(threads):
    with ClusterEngine(threads.scheduler_address).session() as session:
        with pytest.raises(hb.DataError, match=r"^2 must not be; found it\. Take another\.$"):
            list(session.completed(refused, [2]))
        with pytest.raises(hb.EngineError, match="failed with ZeroDivisionError") as caught:
            list(session.completed(broken, [0]))
        assert "\n" not in str(caught.value)
        assert dict(session.completed(broken, [1])) == {0: 1}


def test_the_threads_of_a_worker_are_used_and_the_setting_is_put_back(threads, monkeypatch):
    monkeypatch.setenv("HAARBOR_NUM_THREADS", "3")
    with ClusterEngine(threads.scheduler_address).session() as session:
        assert dict(session.completed(own_threads, [0])) == {0: 1}
    assert hb.CpuEngine().threads == 3


def own_threads(_):
    return hb.CpuEngine().threads


def test_a_scheduler_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(_cluster_session, "_ANSWER_SECONDS", 0.3)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(
            hb.EngineError, match=rf"a scheduler must answer at {address}; it did not"
        ) as caught:
            ClusterEngine(address).session()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["pigeon://loft:1", "tcp://host:many"])
def test_an_address_that_is_none(address, monkeypatch):
    monkeypatch.setattr(_cluster_session, "_ANSWER_SECONDS", 0.3)
    with pytest.raises(hb.EngineError, match="must be one like tcp://host:8786; found") as caught:
        ClusterEngine(address).session()
    assert "\n" not in str(caught.value)


def test_a_scheduler_without_workers():
    with (
        distributed.LocalCluster(
            n_workers=0,
            processes=False,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
            protocol="tcp",
        ) as empty,
        pytest.raises(hb.EngineError, match=r"must have a worker; it had none for 0\.1 s"),
    ):
        ClusterEngine(empty.scheduler_address, patience_seconds=0.1).session()


@pytest.mark.parametrize(("package", "found"), [("numpy", "1.0"), ("haarbor", None)])
def test_workers_with_other_versions(threads, monkeypatch, package, found):
    told = distributed.Client.get_versions

    def with_another(self, *args, **kwargs):
        versions = told(self, *args, **kwargs)
        first = min(versions["workers"])
        versions["client"]["packages"][package] = "2.0"
        for worker in versions["workers"].values():
            worker["packages"] = {**worker["packages"], package: "2.0"}
        versions["workers"][first]["packages"][package] = found
        return versions

    monkeypatch.setattr(distributed.Client, "get_versions", with_another)
    line = f"every worker must have the versions of this process; .* has {package} {found or 'not at all'}"
    with pytest.raises(hb.EngineError, match=line) as caught:
        ClusterEngine(threads.scheduler_address).session()
    assert "\n" not in str(caught.value)


def test_a_worker_has_its_next_task_before_what_it_did_is_looked_at(threads):
    submitted, seen = [], []
    with ClusterEngine(threads.scheduler_address).session() as session:
        submit = session._submitted

        def noted(work, task, address):
            submitted.append(task)
            return submit(work, task, address)

        session._submitted = noted
        for _, _result in session.completed(squared, list(range(8))):
            seen.append(len(submitted))
    # Two workers: when the first result comes, a third task is on its way, and so on until all are.
    assert all(count >= min(8, place + 3) for place, count in enumerate(seen))
