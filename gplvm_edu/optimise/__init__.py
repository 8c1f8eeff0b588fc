"""Minimisation as a sequence one can watch: a generator that hands over one iterate after another."""

from .iterate import Iterate
from .rows import minimise_rows
from .search import METHODS, check_gradient, minimise

__all__ = ["METHODS", "Iterate", "check_gradient", "minimise", "minimise_rows"]
