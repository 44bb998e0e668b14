"""Pruned networks whose writing is killed at every moment that can be told apart, for test_whole_folder.py.

python killed_writing.py FOLDER
"""

import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

from haarbor.errors import PruningError
from haarbor.pruning import _pruned_checkpoint as pruned_checkpoint
from haarbor.pruning import load_pruned, n_parameters, network_heads, prune_heads, save_pruned
from haarbor.pruning._whole_folder import found_folder
from tests.pruning.small_networks import batches, network

MOMENTS = ("open", "os.mkdir", "os.rename", "os.chmod", "os.remove", "os.rmdir", "os.scandir", "os.listdir")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at(moment, folder):
    """End this process when so many things have been done in the folder."""
    left = [moment]

    def watch(event, arguments):
        if event in MOMENTS and arguments and str(folder) in str(arguments[0]):
            left[0] -= 1
            if left[0] == 0:
                die()

    sys.addaudithook(watch)


def killed_within_the_weights(_moment, _folder):
    def half(model, path, metadata):
        plain(model, path, metadata=metadata)
        os.truncate(path, os.path.getsize(path) // 2)  # noqa: PTH202
        die()

    plain, pruned_checkpoint.save_model = pruned_checkpoint.save_model, half


def lies_there(target, sizes):
    """Which network lies at a place: its number of heads removed, 'nothing', or 'a part'."""
    if not found_folder(target).exists():
        return "nothing"
    try:
        return sizes.get(n_parameters(load_pruned(target)), "another")
    except PruningError as error:
        return f"a part: {error}"


def main():
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    model, data = network("zoo-vit"), batches("zoo-vit")
    heads = network_heads(model, data[0])
    removed = {1: [(0, 1)], 2: [(0, 1), (1, 2)]}
    pruned = {number: prune_heads(model, heads, own, batch=data[0]) for number, own in removed.items()}
    sizes = {n_parameters(smaller): number for number, smaller in pruned.items()}
    found = {}
    for earlier in (False, True):
        seen, moment, finished = [], 0, False
        ways = [killed_within_the_weights, *[killed_at] * 200]
        while not finished and ways:
            way, target = ways.pop(0), folder / f"{earlier}-{moment}" / "model"
            if earlier:
                save_pruned(target, pruned[1], heads, removed[1])
            child = os.fork()
            if child == 0:
                way(moment, target.parent)
                save_pruned(target, pruned[2], heads, removed[2])
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            finished = not os.WIFSIGNALED(status)
            seen.append(lies_there(target, sizes))
            # What was left behind does not stand in the way of another try.
            save_pruned(target, pruned[2], heads, removed[2])
            assert lies_there(target, sizes) == 2
            moment += 1
        found["earlier" if earlier else "new"] = seen
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
