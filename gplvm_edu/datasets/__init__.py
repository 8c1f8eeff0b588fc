"""Data for the course: simulated without any file, or the papers' own through checked loaders (Appendix B).

>>> from gplvm_edu.datasets import simulate_oil_flow
>>> simulate_oil_flow(100, random_state=0).data.shape
(100, 12)
"""
from .dataset import Dataset, draw_per_class
from .digits import load_mnist, load_usps
from .fetch import DataCorruptError, DataUnavailableError
from .loaders import load_frey_faces, load_newsgroups, load_oil_flow, load_olivetti
from .oil_flow import simulate_oil_flow
from .pipe import oil_flow_paths
from .report import oil_flow_report
from .toys import load_digits, load_iris, make_swiss_roll

__all__ = [
    "DataCorruptError", "DataUnavailableError", "Dataset", "draw_per_class", "load_digits", "load_frey_faces",
    "load_iris", "load_mnist", "load_newsgroups", "load_oil_flow", "load_olivetti", "load_usps",
    "make_swiss_roll", "oil_flow_paths", "oil_flow_report", "simulate_oil_flow",
]
