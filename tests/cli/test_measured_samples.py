"""Samples on which a command measures a network."""

import dataclasses

import pytest

import haarbor as hb
from haarbor.cli._measured_samples import measured_samples
from haarbor.errors import CaptureError

ASKED = {"usual_tokens": 24, "n_samples": 2, "lines": False, "function": "rank_collapse"}


@pytest.fixture(scope="module")
def reader():
    pytest.importorskip("torch")
    return hb.load_model("zoo:transformer-xl")


def test_the_text_of_the_package_where_nothing_is_named(reader):
    samples = list(measured_samples(reader, None, n_tokens=None, **ASKED))
    assert len(samples) == 2
    assert samples[0].inputs["input_ids"].shape[-1] == 24


def test_as_many_tokens_as_are_asked_for(reader):
    (sample, _) = measured_samples(reader, "zoo", n_tokens=7, **ASKED)
    assert sample.inputs["input_ids"].shape[-1] == 7


def test_inputs_that_are_not_made_here_are_refused(reader):
    other = dataclasses.replace(reader, takes=None)
    with pytest.raises(CaptureError, match=r"Call haarbor\.rank_collapse from Python\."):
        measured_samples(other, None, n_tokens=None, **ASKED)
