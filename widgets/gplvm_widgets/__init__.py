"""The explorers of the course, one for each chapter: import `explore_NAME` and show it in a notebook."""
from .ppca import explore_ppca
from .source import show_source

__all__ = ["explore_ppca", "show_source"]
