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
