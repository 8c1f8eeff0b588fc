"""Data for the course: simulated without any file, or the papers' own through checked loaders (Appendix B).

`oil_flow` and `pipe` simulate, `toys` and `cities` need no file, `binary` makes images binary and removes pixels;
`digits` and `loaders` read what `fetch` finds and `contents` recognises; `dataset` is the type that all of them return.

>>> from gplvm_edu.datasets import simulate_oil_flow
>>> simulate_oil_flow(100, random_state=0).data.shape
(100, 12)
"""

from .binary import binary_images, remove_pixels
from .cities import city_distances, great_circle_distances
from .dataset import Dataset, draw_per_class, unit_variance
from .digits import load_mnist, load_usps
from .fetch import DataCorruptError, DataUnavailableError
from .loaders import load_frey_faces, load_newsgroups, load_oil_flow, load_olivetti
from .oil_flow import simulate_oil_flow
from .pipe import oil_flow_paths
from .toys import (
    load_digits,
    load_iris,
    load_table,
    make_bent_line,
    make_curved_sheet,
    make_furrowed_sheet,
    make_swiss_roll,
)

__all__ = [
    "DataCorruptError",
    "DataUnavailableError",
    "Dataset",
    "binary_images",
    "city_distances",
    "draw_per_class",
    "great_circle_distances",
    "load_digits",
    "load_frey_faces",
    "load_iris",
    "load_mnist",
    "load_newsgroups",
    "load_oil_flow",
    "load_olivetti",
    "load_table",
    "load_usps",
    "make_bent_line",
    "make_curved_sheet",
    "make_furrowed_sheet",
    "make_swiss_roll",
    "oil_flow_paths",
    "remove_pixels",
    "simulate_oil_flow",
    "unit_variance",
]
