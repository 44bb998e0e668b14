"""Do moves of whole subtrees, beyond rotations, make better Haar trees? Tried on data they have not seen.

A subtree is cut off and grafted beside another folder (prune and regraft) wherever that lowers the l1 norm
plus the price of depth. For every subtree the four folders that would cost least to join are tried, and each
change is computed exactly; then rotations again, until nothing helps or six rounds are over. Corners of
64 x 64 tokens, at most 90 heads.

    python benchmarks/subtree_moves.py RUN.zarr ... [--restraint 0.01]
"""

import argparse
import time
from pathlib import Path
from unittest.mock import patch

import numba
import numpy as np

import haarbor as hb
from haarbor.analysis import held_out_coherence, valid_tokens
from haarbor.trees import rotate

N_TOKENS, MOST_HEADS, N_BATCHES = 64, 90, 4
N_TRIED, ROUNDS = 4, 6


@numba.njit(fastmath=True)
def distance(a, b):
    total = 0.0
    for f in range(a.size):
        total += abs(a[f] - b[f])
    return total


@numba.njit
def update(folder, means, left, right, sizes, terms):
    """Size, mean and term of a folder from its two children."""
    one, other = left[folder], right[folder]
    a, b = sizes[one], sizes[other]
    sizes[folder] = a + b
    share = means.dtype.type(a / (a + b))
    means[folder] = share * means[one] + (means.dtype.type(1) - share) * means[other]
    terms[folder] = np.sqrt(a * b / (a + b)) * distance(means[one], means[other])


@numba.njit
def replace_child(folder, old, new, left, right, parents):
    if left[folder] == old:
        left[folder] = new
    else:
        right[folder] = new
    parents[new] = folder


@numba.njit
def sibling(folder, left, right, parents):
    parent = parents[folder]
    return left[parent] if right[parent] == folder else right[parent]


@numba.njit
def graft(moved, beside, means, left, right, parents, sizes, terms, price):
    """Cut a subtree off and join it with another folder; the change of the objective.

    Its old parent becomes the new folder of the two. Nothing changes outside the smallest folder that holds
    both places.
    """
    joint = parents[moved]
    rest, above = sibling(moved, left, right, parents), parents[joint]
    replace_child(above, joint, rest, left, right, parents)
    replace_child(parents[beside], beside, joint, left, right, parents)
    left[joint], right[joint] = beside, moved
    parents[beside] = parents[moved] = joint
    is_over = np.zeros(parents.size, np.bool_)
    folder = joint
    while folder >= 0:
        is_over[folder] = True
        folder = parents[folder]
    top = above
    while not is_over[top]:
        top = parents[top]
    before = terms[joint] + price * sizes[joint]
    after = 0.0
    for begin in (above, joint):
        folder = begin
        while folder != top:
            if folder != joint:
                before += terms[folder] + price * sizes[folder]
            update(folder, means, left, right, sizes, terms)
            after += terms[folder] + price * sizes[folder]
            folder = parents[folder]
    if top != joint:
        before += terms[top] + price * sizes[top]
    update(top, means, left, right, sizes, terms)
    return after + terms[top] + price * sizes[top] - before


@numba.njit
def graft_all(means, left, right, parents, sizes, terms, price, least):
    """One round over all subtrees; number of moves."""
    n_folders = sizes.size
    root, moves = n_folders - 1, 0
    for moved in range(root):
        if parents[moved] == root:
            continue
        home = sibling(moved, left, right, parents)
        costs = np.full(n_folders, np.inf)
        for beside in range(root):
            folder = beside
            while folder not in (-1, moved):
                folder = parents[folder]
            if folder == moved or beside in (home, parents[moved]):
                continue
            a, b = sizes[moved], sizes[beside]
            costs[beside] = np.sqrt(a * b / (a + b)) * distance(means[moved], means[beside])
        best, place = -least, -1
        for beside in np.argsort(costs)[:N_TRIED]:
            if costs[beside] < np.inf:
                change = graft(moved, beside, means, left, right, parents, sizes, terms, price)
                graft(moved, home, means, left, right, parents, sizes, terms, price)
                if change < best:
                    best, place = change, beside
        if place >= 0:
            graft(moved, place, means, left, right, parents, sizes, terms, price)
            moves += 1
    return moves


def rotate_and_graft(folders, price, threads):
    """In the place of `rotate`."""
    rotate(folders, price, threads)
    for _ in range(ROUNDS):
        norm = folders.norm
        parts = (folders.means, folders.left, folders.right, folders.parents, folders.sizes, folders.terms)
        if not graft_all(*parts, price, 1e-6 * norm / folders.n_items):
            return
        if folders.norm > norm * (1 + 1e-5) and price == 0:
            raise AssertionError("a move that lowers the norm has raised it")
        rotate(folders, price, threads)


def corners(run):
    part = run.part("probabilities")
    for batch in part.batches[:N_BATCHES]:
        X = valid_tokens(part.tensor(batch), part.mask(batch)).filled("probabilities")
        step = -(-X.shape[2] // MOST_HEADS)
        yield np.ascontiguousarray(X[:N_TOKENS, :N_TOKENS, ::step])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--restraint", type=float, default=0.01)
    asked = parser.parse_args()
    # Compiled before anything is timed.
    with patch("haarbor.questionnaire._descent.rotate", rotate_and_graft):
        hb.organize(np.random.default_rng(0).random((9, 9, 5), np.float32), tree="haar")
    for place in asked.runs:
        tensors = list(corners(hb.open_run(place)))
        print(f"{place.stem}, {tensors[0].shape}, {len(tensors)} batches, restraint {asked.restraint:g}")
        found, seconds = [], []
        for work in (rotate, rotate_and_graft):
            begin = time.process_time()
            with patch("haarbor.questionnaire._descent.rotate", work):
                one = held_out_coherence(tensors, {"tree": "haar", "restraint": asked.restraint})
            seconds.append(time.process_time() - begin)
            depth = ", ".join(f"{values.mean():.1f}" for values in one.depth.values())
            print(f"  {work.__name__:18s} {one}, in sample {one.in_sample.mean():.3f}, depth {depth}")
            found.append(one)
        leads = [found[1].lead_over(found[0], of) for of in ("heads", "batches")]
        told = ", ".join(f"{mean:+.4f} ± {error:.4f}" for mean, error in leads)
        print(
            f"  gained on heads and batches {told}; {seconds[1] / seconds[0]:.1f} times as long", flush=True
        )


if __name__ == "__main__":
    main()
