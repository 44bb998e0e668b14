"""haarbor organize, as a user types it."""

import json

import haarbor as hb


def test_organize_says_in_words_what_it_found(command, captured_run):
    out, _ = captured_run
    done = command("organize", out)
    assert done.code == 0, done.err
    assert "12 heads on 3 batches" in done.out
    assert "Most alike over all batches" in done.out
    found = json.loads(command("organize", out, "--json").out)
    assert found["batches_reused"] == 3
    assert len(found["highest_entropy"]) == 5


def test_organize_takes_logits_with_their_mask(command, captured_run):
    out, _ = captured_run
    done = command("organize", out, "--content", "logits", "--json")
    assert done.code == 0, done.err
    kept = hb.open_run(out).load_result("organization", batch=0, content="logits")
    assert kept.settings.masked_entries == "row mean of valid logits"


def test_organize_takes_a_builder_and_keeps_the_results_of_the_other(command, captured_run):
    out, _ = captured_run
    assert command("organize", out).code == 0
    done = command("organize", out, "--tree", "haar", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["tree"] == "haar"
    run = hb.open_run(out)
    assert run.load_result("organization", batch=0).settings.tree == "haar"
    assert run.load_result("organization.flexible", batch=0).settings.n_iterations == 3
    assert json.loads(command("organize", out, "--json").out)["batches_reused"] == 3
    wrong = command("organize", out, "--tree", "oak")
    assert wrong.code == 2
    assert "--tree" in wrong.err
