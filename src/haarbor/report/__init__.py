"""The report: one HTML page in which a person sees the heads of a network."""

from haarbor.report.organised import asked_before, chosen_parts, is_organised
from haarbor.report.write_report import report_html, write_report

__all__ = ["asked_before", "chosen_parts", "is_organised", "report_html", "write_report"]
