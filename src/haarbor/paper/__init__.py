"""The figures and tables of the paper (arXiv 2506.15541), reproduced for any run."""

# Imported first: where matplotlib is not installed, it raises an error that says so in one line.
import haarbor.plots  # noqa: F401
from haarbor.paper._gathered_results import paper_results
from haarbor.paper._paper_figures import write_paper_figures
from haarbor.paper._paper_results import PaperResults, SoftmaxExample, loaded_results
from haarbor.paper._paper_tables import paper_tables

__all__ = [
    "PaperResults",
    "SoftmaxExample",
    "loaded_results",
    "paper_results",
    "paper_tables",
    "write_paper_figures",
]
