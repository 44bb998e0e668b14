"""What a user wants to keep with a mask or a network must be JSON."""

import json

import pytest

from haarbor.errors import SettingError
from haarbor.pruning._json_text import json_text


def test_the_text_is_the_content():
    content = {"format": "haarbor-mask", "origin": {"share": 0.3, "scores": ["norm"]}}
    assert json.loads(json_text(content)) == content


@pytest.mark.parametrize("origin", [{"model": object()}, {"score": {1, 2}}])
def test_an_origin_that_json_has_no_form_for_is_refused(origin):
    with pytest.raises(SettingError, match=r"origin must hold JSON values only.*Convert it first"):
        json_text({"origin": origin})
