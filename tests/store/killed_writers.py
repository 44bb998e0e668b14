"""Writers that are killed; run as ``python -m tests.store.killed_writers``, never imported by a test.

``all FOLDER STEP`` kills one at every STEP-th operation on files, counted by Python's own audit
events, and a second one soon after it took over; the third ends the run. A result is saved at the
end of it, so its writing is interrupted too. ``slowly FOLDER`` writes
one run with pauses, to be killed from outside.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import zarr.storage  # noqa: F401  (loaded once, before the forks)

from haarbor.store import open_run
from tests.store.builders import assert_same_files, tiny_plan, write_run

CHANGES = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}
PLAN = tiny_plan(n_batches=2, contents=("probabilities",))
GROWING = tiny_plan(n_batches=None, contents=("probabilities",))


def kill_at(number, place):
    """Die before the `number`-th operation on a file of `place`."""
    count = 0

    def hook(event, arguments):
        nonlocal count
        if event in CHANGES and str(arguments[0]).startswith(str(place)):
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def in_child(place, plan, number=None):
    """Write the run in a process of its own; whether it was killed."""
    child = os.fork()
    if child == 0:
        os.fsync = lambda descriptor: None  # a killed process loses nothing that the system has
        if number is not None:
            kill_at(number, place)
        write_run(place, plan, batches=None if plan.n_batches else not_there(place), pictures=True)
        open_run(place).save_result({"scores": np.arange(3), "more": np.eye(2)}, "scores")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert status == 0, f"a writer failed after {number} operations"
    return False


def not_there(place):
    there = {int(path.parent.name) for path in Path(place).glob("batches/*/zarr.json")}
    return [batch for batch in range(2) if batch not in there]


def kill_everywhere(folder, step):
    for plan, name in ((PLAN, "fixed"), (GROWING, "growing")):
        straight = folder / f"{name}-straight"
        in_child(straight, plan)
        number, kills = 1, 0
        while in_child(place := folder / f"{name}-{number}", plan, number):
            kills += 1
            kills += in_child(place, plan, 1 + number // 2)
            assert not in_child(place, plan)
            assert_same_files(place, straight)
            number += step
        sys.stdout.write(f"{name} {number} {kills}\n")


def write_slowly(folder):
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    write_run(folder, tiny_plan(n_batches=4), between=lambda: time.sleep(0.02), pictures=True)


if __name__ == "__main__":
    if sys.argv[1] == "all":
        kill_everywhere(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        write_slowly(Path(sys.argv[2]))
