"""Heads exchanged while a loss falls, against all choices there are, and against losses made up for it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from haarbor.pruning import Metric, answer_distance, compensate, compensated, exchange_search
from haarbor.pruning._budgets import head_groups
from haarbor.pruning._exchange_search import _LEAST_TO_PART, _PATIENCE, N_PASSES
from haarbor.pruning._metrics import METRICS, measure
from tests.pruning.builders import choice_at_random, measurable
from tests.pruning.small_searches import MadeUpLoss, all_losses, allowed, gone_from, gone_in, squares


def flat(_gone, _place):
    return 1.0


def test_four_heads_by_hand():
    """Of weights 1 to 4, in twentieths."""
    made = squares([0.05, 0.1, 0.15, 0.2])
    found = exchange_search(*made, {"largest": [2, 3], "better": [1, 3]})
    # From 4 + 16, two exchanges at once give 1 + 9, and then a single one 1 + 4.
    assert found.start == "better"
    np.testing.assert_allclose(found.values * 400, [20.0, 10.0, 5.0])
    assert found.removed.tolist() == [True, True, False, False]
    # Of the four that are left by then, two were measured before.
    assert found.n_tried == 4
    assert repr(found) == "ExchangeSearch(2 of 4 heads, from 'better', 0.05 to 0.0125 by 2 of 4)"
    assert not found.removed.flags.writeable
    assert not found.values.flags.writeable


def test_many_heads_are_exchanged_at_once():
    made = squares([0.02 * number for number in range(1, 9)])
    found = exchange_search(*made, {"largest": [4, 5, 6, 7]})
    assert gone_in(found) == {0, 1, 2, 3}
    np.testing.assert_allclose(found.values * 2500, [25 + 36 + 49 + 64, 1 + 4 + 9 + 16])
    # Where heads cannot all stand for each other, one after the other.
    apart = MadeUpLoss(lambda gone, _place: 10.0 - sum(gone)).search([0, 4], within="layer")
    assert (np.diff(apart.values) == -1).all()


def test_half_as_many_at_once_where_all_are_too_many():
    model, heads, moments, data, error = squares([0.02 * number for number in range(1, 9)])
    seen = []

    def not_the_least(network, batch):
        total, count = error.function(network, batch)
        gone = gone_from(network, 8)
        if not torch.is_grad_enabled() and gone not in seen:
            seen.append(gone)
        return total + (1.0 if gone == {0, 1, 2, 3} else 0.0), count

    metric = Metric("not the least", not_the_least)
    found = exchange_search(model, heads, moments, data, metric, {"largest": [4, 5, 6, 7]})
    # The two largest return then, and the two smallest go; at the end the best of all others.
    assert seen[:3] == [{4, 5, 6, 7}, {0, 1, 2, 3}, {0, 1, 4, 5}]
    np.testing.assert_allclose(found.values * 2500, [174.0, 66.0, 39.0])
    assert gone_in(found) == {0, 1, 2, 4}


@pytest.mark.parametrize(
    ("name", "n_removed", "by_distance"),
    [("zoo-vit", 2, False), ("gpt2", 2, True), ("multihead", 4, True), ("llama", 2, False)],
)
@pytest.mark.parametrize("drawn", [True, False])
def test_no_choice_near_what_was_found_is_better(name, n_removed, by_distance, drawn):
    """Slow reference: all choices of as many heads."""
    asked, table = all_losses(name, n_removed, by_distance)
    heads = asked[1]
    ordered = np.sort([each.mean() for each in table.values()])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        starts = {str(number): choice_at_random(rng, heads, n_removed) for number in range(3)}
        found = exchange_search(*asked, starts, drawn=drawn)
        own = table[gone_in(found)]
        assert found.values[-1] == pytest.approx(own.mean(), rel=1e-4)
        begun = {
            start: table[frozenset(np.flatnonzero(mask).tolist())].mean() for start, mask in starts.items()
        }
        assert found.start == min(begun, key=begun.get)
        assert found.values[0] == pytest.approx(begun[found.start], rel=1e-4)
        assert (np.diff(found.values) < 0).all()
        # Every single exchange was tried, and none is better by more than its error.
        for other, each in table.items():
            if len(other ^ gone_in(found)) == 2:
                change = each - own
                assert change.mean() > -change.std(ddof=1) / 2 - 1e-6
        # And few of all are better at all.
        assert np.mean(ordered < found.values[-1] - 1e-6) < 0.25


@pytest.mark.parametrize(("name", "by_distance"), [("llama", True), ("gpt2", True), ("zoo-vit", False)])
def test_hardly_any_of_all_choices_is_better(name, by_distance):
    """Slow reference: 220 choices of three of twelve heads."""
    asked, table = all_losses(name, 3, by_distance)
    ordered = np.sort([each.mean() for each in table.values()])
    assert len(ordered) == 220
    ranks = []
    for seed in range(6):
        start = choice_at_random(np.random.default_rng(seed), asked[1], 3)
        found = exchange_search(*asked, {"chance": start}, drawn=True)
        ranks.append(int(np.searchsorted(ordered, found.values[-1] * (1 - 1e-5))))
    assert np.median(ranks) < 11


COSTS = st.lists(st.integers(0, 50), min_size=8, max_size=8)


@given(COSTS, st.integers(0, 6), st.sampled_from(["network", "layer", "uniform"]), st.booleans(), st.data())
def test_costs_that_add_up_end_at_the_least_of_all_choices(costs, n_removed, within, higher, data):
    """Slow reference: all choices that the structure allows. Single exchanges reach the best of them."""
    sign = -1.0 if higher else 1.0
    made = MadeUpLoss(lambda gone, _: sign * sum(costs[head] for head in gone), group=2, higher=higher)
    every = list(allowed(made.heads, n_removed))
    start = data.draw(st.sampled_from(every))
    found = made.search(sorted(start), within=within)
    mask = made.heads.mask(sorted(start))
    expected = min(
        sum(costs[head] for head in chosen) for chosen in allowed(made.heads, n_removed, mask, within)
    )
    assert sign * found.values[-1] == sum(costs[head] for head in gone_in(found)) == expected
    assert (sign * np.diff(found.values) < 0).all()
    groups = head_groups(made.heads, within)
    np.testing.assert_array_equal(
        np.bincount(groups[found.removed], minlength=8), np.bincount(groups[mask], minlength=8)
    )
    for choice in made.measured:
        assert max(len(choice & set(range(4))), len(choice & set(range(4, 8)))) < 4
        assert len(choice) == n_removed


@pytest.mark.parametrize("within", ["network", "layer", "uniform"])
def test_heads_are_exchanged_within_their_group(within):
    model, heads, moments, data, loss = measurable("llama", 4)
    distance = answer_distance(model, data, loss)
    groups = {"layer": heads.layer_of_head, "uniform": np.arange(12) // 2}
    moved = 0
    for seed in range(4):
        start = choice_at_random(np.random.default_rng(seed), heads, 5)
        found = exchange_search(
            model, heads, moments, data, distance, {"a": start}, within=within, drawn=True
        )
        assert found.removed.sum() == 5
        assert all(gone.size < 4 for gone in heads.by_layer(found.removed))
        assert found.values[-1] <= found.values[0]
        for name, own in groups.items():
            before, after = (np.bincount(own[mask], minlength=6) for mask in (start, found.removed))
            if within == name or (within == "uniform" and name == "layer"):
                np.testing.assert_array_equal(before, after)
            else:
                moved += int((before != after).any())
    # The others do exchange heads of different groups.
    assert moved > 0 or within == "uniform"


@pytest.mark.parametrize("n_batches", [3, _LEAST_TO_PART - 1, _LEAST_TO_PART, _LEAST_TO_PART + 1, 30])
@pytest.mark.parametrize("name", ["zoo-vit", "vectors"])
def test_few_and_many_batches(name, n_batches):
    model, heads, moments, data, loss = measurable(name, n_batches)
    loss = answer_distance(model, data, loss) or loss
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    starts = {str(seed): choice_at_random(np.random.default_rng(seed), heads, 4) for seed in range(2)}
    one, two = (exchange_search(model, heads, moments, data, loss, starts, n_passes=60) for _ in range(2))
    # The same again.
    np.testing.assert_array_equal(one.removed, two.removed)
    np.testing.assert_array_equal(one.values, two.values)
    assert (one.start, one.n_tried) == (two.start, two.n_tried)
    assert one.removed.sum() == 4
    assert one.values.size > 1
    assert (np.diff(one.values) < 0).all()
    for place, mask in ((0, starts[one.start]), (-1, one.removed)):
        with compensated(model, heads, compensate(model, heads, mask, None, moments=moments)):
            assert measure(model, data, loss).value == pytest.approx(one.values[place], rel=1e-5)
    # And the network is as it was.
    for key, value in model.state_dict().items():
        assert torch.equal(value, weights[key])
    for part in model.modules():
        assert not part._forward_hooks
        assert not part._forward_pre_hooks
    assert all(each.grad is None and each.requires_grad for each in model.parameters())


def test_a_fall_within_its_standard_error_does_not_count():
    start, noisy, sure = frozenset([0]), frozenset([1]), frozenset([2])
    # A mean of -0.5 with an error of 0.87, and of -0.2 with none.
    table = {start: [1.0] * 4, noisy: [0.0, 2.0, 0.0, 0.0], sure: [0.8] * 4}
    made = MadeUpLoss(lambda gone, place: table.get(gone, [9.0] * 4)[place])
    found = made.search([0])
    assert gone_in(found) == sure
    assert noisy in made.measured
    # With an error of 0.43 it does.
    table[noisy] = [0.5, 1.0, 0.5, 0.5]
    assert gone_in(MadeUpLoss(lambda gone, place: table.get(gone, [9.0] * 4)[place]).search([0])) == noisy


def test_more_standard_errors_may_be_asked_for():
    start, noisy, sure = frozenset([0]), frozenset([1]), frozenset([2])
    # Means of -0.375 and -0.3, with errors of 0.125 and 0.
    table = {start: [1.0] * 4, noisy: [0.5, 1.0, 0.5, 0.5], sure: [0.7] * 4}

    def search(n_errors):
        made = MadeUpLoss(lambda gone, place: table.get(gone, [9.0] * 4)[place])
        return gone_in(made.search([0], n_errors=n_errors))

    assert [search(n_errors) for n_errors in (0, 1, 2.9, 3.1, 1000)] == [noisy, noisy, noisy, sure, sure]


def test_a_preferred_start_is_left_only_for_one_that_is_clearly_better():
    table = {
        frozenset([0]): [1.0] * 4,
        # Means of -0.375 and -0.3, with errors of 0.125 and 0.
        frozenset([1]): [0.5, 1.0, 0.5, 0.5],
        frozenset([2]): [0.7] * 4,
    }
    starts = {"own": [0], "noisy": [1], "sure": [2]}

    def begin(names, **given):
        made = MadeUpLoss(lambda gone, place: table.get(gone, [9.0] * 4)[place])
        found = made.search({name: starts[name] for name in names}, n_passes=1, **given)
        return found.start

    assert begin(starts, n_errors=3.1) == "noisy"
    assert begin(starts, prefer="own", n_errors=2.9) == "noisy"
    assert begin(starts, prefer="own", n_errors=3.1) == "sure"
    assert begin(["own", "noisy"], prefer="own", n_errors=3.1) == "own"
    assert begin(starts, prefer="noisy", n_errors=3.1) == "noisy"
    assert begin(["noisy", "sure"], prefer="sure", n_errors=1) == "sure"


@pytest.mark.parametrize("higher", [False, True])
def test_preferring_goes_by_what_is_better_of_a_metric(higher):
    sign = -1.0 if higher else 1.0
    made = MadeUpLoss(lambda gone, _place: sign * float(0 in gone), higher=higher)
    assert made.search({"worse": [0], "better": [1]}, prefer="worse").start == "better"
    assert made.search({"worse": [0], "better": [1]}, prefer="better").start == "better"


def test_a_start_whose_loss_is_no_number_is_left():
    made = MadeUpLoss(lambda gone, _place: float("nan") if gone == {0} else 1.0)
    assert made.search({"nan": [0], "number": [1]}).start == "number"
    assert made.search({"number": [1], "nan": [0]}).start == "number"


@pytest.mark.parametrize("n_batches", [4, 16])
def test_batches_weigh_as_much_as_they_count(n_batches):
    """A loss that falls where much is counted, and rises by more where little is."""

    def loss_of(gone, place):
        count = 100.0 if place % 8 in (0, 1, 2, 5, 6, 7) else 1.0
        level = 1.0 if gone != {0} else 0.0
        return (count * (2.0 - 0.5 * level if count > 1 else 2.0 + 8.0 * level), count)

    found = MadeUpLoss(loss_of, n_batches).search([0])
    much, little = (3, 1) if n_batches == 4 else (12, 4)
    np.testing.assert_allclose(
        found.values, [2.0, (much * 150 + little * 10) / (much * 100 + little)], rtol=1e-12
    )


def test_of_many_batches_a_quarter_comes_first():
    start, worse, late, unsure = (frozenset([head]) for head in range(4))
    some = list(range(0, _LEAST_TO_PART, 4))
    others = [place for place in range(_LEAST_TO_PART) if place not in some]

    def loss_of(gone, place):
        of_some, of_others = {
            start: (1.0, 1.0),
            worse: (2.0, 0.0),
            late: (0.5, 1.5),
            # A little worse on the first, by less than half its error there, and better on the others.
            unsure: (2.0 if place == 0 else 0.8, 0.5),
        }.get(gone, (5.0, 5.0))
        return of_some if place in some else of_others

    made = MadeUpLoss(loss_of, n_batches=_LEAST_TO_PART)
    found = made.search([0])
    assert gone_in(found) == unsure
    total = 2.0 + 0.8 * (len(some) - 1) + 0.5 * len(others)
    np.testing.assert_allclose(found.values, [1.0, total / _LEAST_TO_PART])
    assert made.measured[start] == list(range(_LEAST_TO_PART))
    assert made.measured[worse] == some
    assert made.measured[late] == made.measured[unsure] == [*some, *others]
    fewer = MadeUpLoss(loss_of, n_batches=_LEAST_TO_PART - 1)
    fewer.search([0])
    assert all(places == list(range(_LEAST_TO_PART - 1)) for places in fewer.measured.values())


def test_what_was_measured_in_two_parts_belongs_to_its_batches():
    """Losses that differ from batch to batch, and fall by the same everywhere: there is no error."""
    levels = np.random.default_rng(0).normal(size=19) * 10

    def loss_of(gone, place):
        return levels[place] - 0.01 * max(gone)

    found = MadeUpLoss(loss_of, n_batches=19).search([0])
    assert gone_in(found) == {7}
    assert found.values[-1] == pytest.approx(levels.mean() - 0.07)


def test_a_search_ends_after_so_many_failures():
    made = MadeUpLoss(flat, sizes=(20,))
    found = made.search(range(10))
    assert (found.n_tried, found.values.tolist()) == (_PATIENCE, [1.0])
    assert gone_in(found) == set(range(10))
    # No choice is measured again.
    assert [len(places) for places in made.measured.values()] == [4] * (1 + _PATIENCE)
    # Eleven exchanges are all there are of one head and eleven others.
    assert MadeUpLoss(flat, sizes=(12,)).search([3]).n_tried == 11


def test_failures_are_counted_anew_after_each_success():
    """All but one fail, the next helps, and as many may fail again."""
    tried, better = [], []

    def loss_of(gone, _place):
        if gone not in tried:
            tried.append(gone)
            better.extend([gone] * (len(tried) == 1 + _PATIENCE))
        return 0.5 if gone in better else 1.0

    found = MadeUpLoss(loss_of, sizes=(20,)).search(range(10), n_passes=60)
    assert found.values.tolist() == [1.0, 0.5]
    assert found.n_tried == _PATIENCE + _PATIENCE


@pytest.mark.parametrize(("n_passes", "n_tried"), [(5, 1), (10, 6), (np.int64(20), 16), (999, _PATIENCE)])
def test_a_search_ends_after_so_many_passes(n_passes, n_tried):
    """Four passes for the derivatives, and one for each choice."""
    made = MadeUpLoss(flat, sizes=(20,))
    assert made.search(range(10), n_passes=n_passes).n_tried == n_tried
    assert made.n_gradients == 4


@pytest.mark.parametrize("n_passes", [1, 7, 13])
def test_work_is_at_most_that_and_what_was_begun(n_passes):
    """Derivatives that were taken are used for one more choice."""
    made = MadeUpLoss(lambda gone, _place: 100.0 - sum(gone), sizes=(20,))
    found = made.search([0], n_passes=n_passes)
    assert n_passes <= made.n_gradients + found.n_tried < n_passes + 5
    assert found.values.size > 1


def test_starts_do_not_count_and_every_step_has_its_derivatives():
    made = MadeUpLoss(lambda gone, _place: 100.0 - sum(gone), sizes=(20,))
    starts = {str(number): [number] for number in range(8)}
    found = made.search({**starts, "again": [3]}, n_passes=15)
    # The best of eight, and an exchange of five passes three times; none was foretold.
    assert found.start == "7"
    assert found.n_tried == 3
    assert len(made.measured) == 8 + 3
    assert made.n_gradients == 3 * 4
    assert [len(places) for places in made.measured.values()] == [4] * 11


def test_the_first_of_equal_starts_is_taken():
    made = MadeUpLoss(lambda gone, _place: float(0 in gone))
    found = made.search({"worse": [0, 1], "first": [1, 2], "second": [2, 3]})
    assert (found.start, gone_in(found)) == ("first", {1, 2})
    higher = MadeUpLoss(lambda gone, _place: float(0 in gone), higher=True)
    assert higher.search({"worse": [2, 1], "first": [0, 1], "second": [0, 3]}).start == "first"


def test_what_was_measured_corrects_what_is_foretold():
    made = MadeUpLoss(lambda gone, _place: 1.0 if gone == {0, 1} else 2.0, sizes=(8,))
    made.search([0, 1])
    order = [sorted({0, 1} ^ gone) for gone in made.measured]
    # 0 for 2 has failed: both are put off, and so are 1 and 3. Then one of them, for another head.
    assert order[:4] == [[], [0, 2], [1, 3], [0, 4]]


def test_where_nothing_can_be_exchanged_the_start_stays():
    for made, start in (
        (MadeUpLoss(flat), []),
        (MadeUpLoss(flat, sizes=(2, 2, 2)), [0, 2, 4]),
    ):
        found = made.search(start, within="uniform")
        assert gone_in(found) == set(start)
        assert found.values.tolist() == [1.0]
    assert found.n_tried == 3


def test_losses_that_are_no_numbers_are_never_better():
    made = MadeUpLoss(lambda gone, _place: 1.0 if gone == {0} else float("nan"))
    found = made.search([0])
    assert (gone_in(found), found.values.tolist()) == ({0}, [1.0])
    assert found.n_tried == 7


@pytest.mark.parametrize("n_batches", [4, 16])
def test_it_tells_how_far_it_is(n_batches):
    told = []
    made = MadeUpLoss(lambda gone, _place: 100.0 - sum(gone), n_batches, sizes=(20,))
    made.search([0], n_passes=12, on_progress=lambda *step: told.append(step))
    # Twelve passes, and one for the start.
    assert {(step, total) for step, _, total in told} == {("searching", 13)}
    done = [done for _, done, _ in told]
    assert done == sorted(done)
    assert done[0] <= 4
    assert done[-1] == 13
    assert len(done) > 4
    # A search that ends early is at its end, too.
    early = []
    MadeUpLoss(flat).search([0], on_progress=lambda *step: early.append(step))
    assert early[-1] == ("searching", N_PASSES + 1, N_PASSES + 1)
    assert early[-2][1] < 20


def test_progress_never_goes_back():
    told = []
    made = MadeUpLoss(flat, sizes=(12,))
    made.search(
        {str(number): [number] for number in range(9)}, on_progress=lambda *step: told.append(step[1])
    )
    assert told == sorted(told)


def test_starts_are_choices_of_heads_in_any_form():
    made = MadeUpLoss(lambda gone, _place: float(sum(gone)))
    mask = made.heads.mask([3, 7])
    for start in ([(0, 3), (1, 3)], [3, 7], mask):
        assert gone_in(made.search({"a": start})) == {0, 1}
    assert np.flatnonzero(mask).tolist() == [3, 7]


def test_the_accuracy_rises():
    model, heads, moments, data, _ = measurable("zoo-vit", 12)
    accuracy = METRICS["accuracy"]
    rises = []
    for seed in range(4):
        start = choice_at_random(np.random.default_rng(seed), heads, 5)
        found = exchange_search(model, heads, moments, data, accuracy, {"a": start}, drawn=True)
        assert (np.diff(found.values) > 0).all()
        with compensated(model, heads, compensate(model, heads, found.removed, None, moments=moments)):
            assert measure(model, data, accuracy).value == pytest.approx(found.values[-1])
        rises.append(found.values[-1] - found.values[0])
    assert max(rises) > 0
