"""`LatentDisplay`: where the rows of a table lie in latent space, and what the model knows in between."""

from typing import Self

import matplotlib
import numpy as np

from .. import checks
from ..maps import plane_of
from ..plane import background_of, chosen_dims, final_step, limits_of
from .display import (
    PRECISION,
    STRETCHED,
    UNKNOWN,
    UNLABELLED,
    Display,
    colour_bar,
    draw_image,
    frame,
    legend_above,
    point_size,
    remark_below,
    scatter_by_class,
    scatter_by_shade,
)
from .labels import NOT_KNOWN, classes_of_both, labels_for, range_of, rows_not_labels, shades_of_both
from .style import class_look, plain_text


class LatentDisplay(Display):
    """Latent positions by class over the grey picture of a model: light where its map is sure, dark where it is not.

    A map that is certain everywhere (GTM, PPCA) has another background, named on the colour bar: how far it stretches
    a unit of latent space (log magnification factor); or none, where that is the same everywhere. A model without a map
    (t-SNE, Isomap) has none either.

    Parameters
    ----------
    positions : array (N, 2)
        Of the training rows.
    labels : sequence, optional
        Of the training rows: numbers, texts, a pandas Series or Categorical; with `names` an index into them. More than
        twenty different numbers, or more than ten that are not whole, are a scale and shade the points; pass texts,
        `names` or a Categorical where they are classes. Missing ones (None, NaN, NA) are grey.
    names : sequence of str, optional
    new_positions : array (M, 2), optional
        Of new rows, drawn larger and with an edge.
    new_labels : sequence, optional
    background : array (n, n), optional
        From below, over `limits`.
    limits : (left, right, bottom, top), optional
    background_name, remark : str
        On the colour bar, and below the picture.
    dims : (int, int)
        The latent dimensions that are drawn, counted from 0 (and named from 1).

    Attributes
    ----------
    ax_, figure_ : where it was drawn last
    scatters_, new_scatters_ : list of PathCollection
        One for each class that there is, in the order of the legend, or one for all numbers of a scale; rows without a
        label come first.
    image_, colorbar_, legend_, label_bar_ : or None
        `label_bar_` is the colour bar of labels on a scale, `colorbar_` that of the background.

    Examples
    --------
    >>> from gplvm_edu import GPLVM
    >>> from gplvm_edu.datasets import simulate_oil_flow
    >>> oil = simulate_oil_flow(40, random_state=0)
    >>> model = GPLVM(max_iter=5).fit(oil.data)
    >>> LatentDisplay.from_estimator(model, labels=oil.target, names=oil.target_names)
    LatentDisplay(40 rows in 3 classes over log precision (light: sure))
    """

    def __init__(
        self,
        positions,
        labels=None,
        names=None,
        *,
        new_positions=None,
        new_labels=None,
        background=None,
        limits=None,
        background_name="",
        remark="",
        dims=(0, 1),
    ):
        self.positions = plane_positions("positions", positions)
        self.new_positions = plane_positions(
            "new_positions", np.empty((0, 2)) if new_positions is None else new_positions
        )
        n_rows, n_new = len(self.positions), len(self.new_positions)
        self.labels = None if labels is None else labels_for(labels, n_rows, rows="positions has")
        self.new_labels = None if new_labels is None else labels_for(new_labels, n_new, "new_labels", "there are")
        self.names, self.dims = names, tuple(dims)
        shades = shades_of_both(self.labels, self.new_labels, names, n_rows, n_new)
        self.shades, self.new_shades = (None, None) if shades is None else shades
        given = (None, None) if shades is not None else (self.labels, self.new_labels)
        self.classes, self.new_classes = classes_of_both(*given, names, n_rows, n_new)
        self.background, self.background_name, self.remark = background, background_name, remark
        self.limits = plane_of(np.vstack([self.positions, self.new_positions])) if limits is None else tuple(limits)

    @classmethod
    def from_estimator(
        cls, model, Y=None, labels=None, *, names=None, train_labels=None, dims=None, n_grid=60, ax=None
    ) -> Self:
        """Ask a fitted model for its picture, and draw it.

        Parameters
        ----------
        model : fitted estimator with an `embedding_`, or a pipeline that ends with one
        Y : array (M, D), optional
            New rows, placed by `transform`, drawn larger and with an edge. Without them, or where they are the training
            rows themselves, these alone are drawn.
        labels : sequence, optional
            One for each row of Y; without Y for each training row.
        names : sequence of str, optional
            Labels are an index into them.
        train_labels : sequence, optional
            Of the training rows, where Y has others.
        dims : (int, int), optional
            Latent dimensions to draw, counted from 0. Without it the first two, or the two most relevant ones where the
            model knows (`relevance_`); in the background all others are held at 0, or at their means where the model
            has neither a prior nor a grid.
        n_grid : int
            The background is computed at n_grid by n_grid places.
        ax : matplotlib Axes, optional
            Where to draw; without it a figure is made.
        """
        final = final_step(model)
        rows_not_labels(Y)
        dims = chosen_dims(final, dims, cls.__name__)
        X = final.embedding_[:, list(dims)]
        if Y is not None and model is final and is_training_data(final, Y):
            Y = None
        if Y is None:
            new, labels, new_labels = np.empty((0, 2)), train_labels if labels is None else labels, None
            labels = None if labels is None else labels_for(labels, len(X), advice=_FOR_NEW)
        else:
            new, new_labels, labels = placed(model, final, Y)[:, list(dims)], labels, train_labels
            more = " Labels of the training rows are train_labels." if np.shape(new_labels)[:1] == (len(X),) else ""
            new_labels = None if new_labels is None else labels_for(new_labels, len(new), rows="Y has", advice=more)
            labels = None if labels is None else labels_for(labels, len(X), "train_labels")
        limits = limits_of(final, np.vstack([X, new]), dims)
        background = background_of(final, dims, limits, checks.whole_number("n_grid", n_grid, at_least=2))
        display = cls(
            X,
            labels,
            names,
            new_positions=new,
            new_labels=new_labels,
            background=background.values,
            limits=limits,
            background_name=background.name,
            remark=background.remark,
            dims=dims,
        )
        return display.plot(ax)

    def draw(self, ax) -> None:
        """Background, training rows, new rows, legend, names of the axes."""
        self.image_ = self.colorbar_ = None
        if self.background is not None:
            shades = STRETCHED if "stretched" in self.background_name else PRECISION
            self.image_, self.colorbar_ = draw_image(ax, self.background, self.limits, shades, self.background_name)
        size = point_size(len(self.positions))
        edge = "black" if self.image_ else matplotlib.rcParams["text.color"]
        looks = [self.plain_look() if labels is None else UNKNOWN for labels in (self.labels, self.new_labels)]
        self.scatters_ = self.scatter(ax, self.positions, self.classes, self.shades, size, unlabelled=looks[0])
        new = self.new_positions, self.new_classes, self.new_shades
        self.new_scatters_ = self.scatter(ax, *new, 2.6 * size + 12, edge=edge, unlabelled=looks[1])
        self.label_bar_ = self.bar_of_labels(ax)
        frame(ax, self.limits, np.vstack([self.positions, self.new_positions]))
        ax.set(xlabel=f"latent dimension {self.dims[0] + 1}", ylabel=f"latent dimension {self.dims[1] + 1}")
        self.legend_ = legend_above(ax, self.legend_entries())
        remark_below(ax, " ".join(filter(None, [self.remark, on_top_of_one_another(self.positions)])))

    def scatter(self, ax, X, classes, shades, size, **look) -> list:
        """Points (N, 2) by class, or in shades of a scale; returns what was drawn."""
        if shades is None:
            return scatter_by_class(ax, X, classes, size, **look)
        return scatter_by_shade(ax, X, shades, size, range_of(self.shades, self.new_shades), **look)

    def bar_of_labels(self, ax):
        """The colour bar of labels on a scale, named as a pandas Series is."""
        if self.shades is None:
            return None
        named = [getattr(labels, "name", None) for labels in (self.labels, self.new_labels)]
        drawn = next(s for s in (*self.scatters_[::-1], *self.new_scatters_[::-1]) if s.get_array() is not None)
        return colour_bar(ax, drawn, plain_text(next((name for name in named if name is not None), "label")))

    def plain_look(self) -> dict:
        """Of rows without labels: grey where others have some."""
        return UNLABELLED if self.classes.names or self.shades is not None else class_look(0)

    def n_unknown(self) -> int:
        """How many rows have a label that is missing."""
        parts = zip((self.labels, self.new_labels), self._unlabelled(), strict=True)
        return sum(int(np.sum(without)) for labels, without in parts if labels is not None)

    def _unlabelled(self):
        if self.shades is None:
            return self.classes.which < 0, self.new_classes.which < 0
        return np.isnan(self.shades), np.isnan(self.new_shades)

    def legend_entries(self) -> list:
        """(name, look) for each class, for labels not known, and for training and new rows where there are both."""
        entries = [(name, class_look(k)) for k, name in enumerate(self.classes.names)]
        plain = self.plain_look()
        if self.n_unknown():
            entries.append((NOT_KNOWN, UNKNOWN))
        elif len(entries) == 1 and not len(self.new_positions):
            return []
        if len(self.new_positions):
            if self.labels is None:
                entries.append(("training rows", plain))
            ink = matplotlib.rcParams["text.color"]
            face = "none" if self.new_labels is not None else plain["color"]
            entries.append(("new rows", dict(color=face, marker="o", markeredgecolor=ink, markersize=7)))
        return entries

    def summary(self) -> str:
        """How many rows, in how many classes, over what."""
        n_new, n_classes = len(self.new_positions), len(self.classes.names)
        words = f"{len(self.positions)} rows" + (f" and {n_new} new ones" if n_new else "")
        words += f" in {n_classes} classes" if n_classes > 1 else ""
        if self.shades is not None:
            words += " shaded from {:g} to {:g}".format(*range_of(self.shades, self.new_shades))
        words += f" ({self.n_unknown()} {NOT_KNOWN})" if self.n_unknown() else ""
        return words + (f" over {self.background_name}" if self.background is not None else "")


_FOR_NEW = " For new rows pass them too: from_estimator(model, Y, labels)."


def plane_positions(name, X) -> np.ndarray:
    """Positions in the plane as floats (N, 2)."""
    X = np.asarray(X, float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"{name} must be an array (N, 2), got shape {X.shape}. Choose two columns.")
    return X


def is_training_data(model, Y) -> bool:
    """Whether these are the rows that a model was fitted to, and keeps."""
    rows = getattr(model, "rows_", None)
    if rows is None or np.shape(Y) != np.shape(rows):
        return False
    try:
        return np.array_equal(np.asarray(Y, float), rows, equal_nan=True)
    except (TypeError, ValueError):
        return False  # `transform` says what is wrong with them


def placed(model, final, Y) -> np.ndarray:
    """Latent positions (M, q) of new rows, by `transform`."""
    if not hasattr(final, "transform"):
        because = getattr(type(final), "why_not", {}).get("transform", "it places all rows at once")
        raise TypeError(
            f"{type(final).__name__} has no transform, so it can't place new rows: {because}. Leave Y out to draw the "
            "training rows."
        )
    return np.asarray(model.transform(Y), float)


def on_top_of_one_another(X) -> str:
    """A remark where many points hide behind others.

    Examples
    --------
    >>> on_top_of_one_another(np.zeros((5, 2)))
    '5 rows at 1 place.'
    """
    n_places = len(np.unique(X, axis=0))
    return f"{len(X)} rows at {n_places} place{'s' * (n_places > 1)}." if n_places < 0.9 * len(X) else ""
