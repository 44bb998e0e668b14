import numpy as np
import pytest

import haarbor as hb
from haarbor.questionnaire._memory_limit import memory_limit


@pytest.mark.parametrize(
    ("given", "n_bytes"),
    [
        ("2GB", 2 * 10**9),
        ("512MB", 512 * 10**6),
        (" 1.5 gb ", 15 * 10**8),
        ("64k", 64_000),
        ("1T", 10**12),
        ("700", 700),
        (4096, 4096),
        (np.int64(5), 5),
    ],
)
def test_sizes_are_numbers_of_bytes(given, n_bytes):
    assert memory_limit(given) == n_bytes


@pytest.mark.parametrize("memory", ["much", "-1GB", "", 0, -5, 1.5, True, None, [1], "1e9", "2 GiB", "0MB"])
def test_other_limits_are_refused(memory):
    with pytest.raises(hb.SettingError, match=r"memory must be a size such as '2GB' or '512MB', or a number"):
        memory_limit(memory)
