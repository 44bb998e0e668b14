"""What is done with a whole run: every batch organised and scored, and all of them together."""

from haarbor.analysis.organize_run import RunAnalysis, organize_run

__all__ = ["RunAnalysis", "organize_run"]
