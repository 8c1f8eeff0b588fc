"""A picture as data (`marks`), put together from panels (`compose`), drawn by the page (`scene.js`) or by matplotlib.

Python says what to draw, the page draws it: in JupyterLab through `SceneView`, in a built page as plain HTML.
"""

from .compose import SceneOf, gallery, remember
from .marks import HIDDEN, Axis, Band, Bars, Cursor, Ellipses, Image, Lines, Panel, Patches, Points, Rules, Scene, Texts
from .view import SceneView

__all__ = [
    "HIDDEN",
    "Axis",
    "Band",
    "Bars",
    "Cursor",
    "Ellipses",
    "Image",
    "Lines",
    "Panel",
    "Patches",
    "Points",
    "Rules",
    "Scene",
    "SceneOf",
    "SceneView",
    "Texts",
    "gallery",
    "remember",
]
