"""Runs on disk or at a URL: the attention of a model, batch by batch, and the results made from it.

A writer may be killed at any moment: every batch and every result is then whole or absent. This room
is the only one that knows the layout of a run. Importing it does not import zarr; opening or creating
a run does.
"""

from haarbor.store._array_files import arrays_in_file
from haarbor.store._attention_sources import cache_contents
from haarbor.store._batch_marker import Labels
from haarbor.store._batch_writer import BatchWriter
from haarbor.store._create_run import create_run
from haarbor.store._damage import Damage
from haarbor.store._head_tensor import HeadTensor
from haarbor.store._import_arrays import import_arrays
from haarbor.store._kept_result import KeptResult
from haarbor.store._layout import is_passing
from haarbor.store._pair_rows import PairRows
from haarbor.store._pictures import MOST_PIXELS
from haarbor.store._result_name import ResultName
from haarbor.store._results_file import load_results_file, save_results_file
from haarbor.store._run import Run, open_run
from haarbor.store._run_part import RunPart
from haarbor.store._run_plan import RunPlan, StreamPlan
from haarbor.store._run_writer import RunWriter
from haarbor.store._stored_numbers import ErrorBound, error_bound
from haarbor.store._token_blocks import block_labels, block_widths
from haarbor.stored_result import stored_result

__all__ = [
    "MOST_PIXELS",
    "BatchWriter",
    "Damage",
    "ErrorBound",
    "HeadTensor",
    "KeptResult",
    "Labels",
    "PairRows",
    "ResultName",
    "Run",
    "RunPart",
    "RunPlan",
    "RunWriter",
    "StreamPlan",
    "arrays_in_file",
    "block_labels",
    "block_widths",
    "cache_contents",
    "create_run",
    "error_bound",
    "import_arrays",
    "is_passing",
    "load_results_file",
    "open_run",
    "save_results_file",
    "stored_result",
]
