"""`ClassMapDisplay`: which class holds each node of a GTM."""

from typing import Self

import numpy as np
from matplotlib.colors import to_rgb

from .. import checks
from ..plane import chosen_dims, final_step
from .display import UNKNOWN, Display, frame, legend_above, point_size, remark_below, scatter_by_class
from .labels import NOT_KNOWN, classes_of_both, labels_for, rows_not_labels
from .style import class_look

STRONGEST = 0.6  # of a class's colour where it has a node for itself: markers stand out


class ClassMapDisplay(Display):
    r"""The class map of a GTM: each node in the colour of the class that claims most of it, the stronger the more.

    A row claims a node by its responsibility R, and a class as much as its rows do. A row whose label is missing (None,
    NaN) claims nothing, and is drawn in grey.

    .. math:: \text{share}_{ic} = \frac{\sum_{n \in c} R_{in}}{\sum_n R_{in}}

    Parameters
    ----------
    nodes : array (K, 2)
        A grid, in any order.
    shares : array (K, C)
    counts : array (K,)
        Rows that claim each node, the sums of its responsibilities over rows with a label.
    positions : array (N, 2)
        Posterior means of the rows.
    labels : sequence
        Of the rows; with `names` an index into them.
    names : sequence of str, optional
    least : float
        A node that fewer rows claim than this is left white.

    Attributes
    ----------
    winners : ndarray (K,)
        The class of each node as a column of `shares`; -1 where it is left white.
    ax_, figure_, image_, scatters_, legend_ : what was drawn last

    Examples
    --------
    >>> from gplvm_edu import GTM
    >>> from gplvm_edu.datasets import simulate_oil_flow
    >>> oil = simulate_oil_flow(40, random_state=0)
    >>> model = GTM(grid=(5, 5), basis=(2, 2), max_iter=5).fit(oil.data)
    >>> ClassMapDisplay.from_estimator(model, labels=oil.target, names=oil.target_names).shares.shape
    (25, 3)
    """

    def __init__(self, nodes, shares, counts, positions, labels, names=None, *, least=0.1):
        self.nodes, self.shares, self.counts = np.asarray(nodes, float), np.asarray(shares), np.asarray(counts)
        self.positions, self.labels, self.names = np.asarray(positions, float), labels, names
        self.classes = classes_of_both(labels, None, names, len(self.positions), 0)[0]
        self.least = checks.number("least", least, at_least=0)
        self.winners = np.where(self.counts >= self.least, np.argmax(self.shares, axis=1), -1)

    @classmethod
    def from_estimator(cls, model, Y=None, labels=None, *, names=None, least=0.1, ax=None) -> Self:
        """Ask a fitted GTM for its class map, and draw it.

        Parameters
        ----------
        model : fitted GTM, or a variant, on a grid of two dimensions; or a pipeline that ends with one
        Y : array (N, D), optional
            Rows that claim the nodes; without them the training rows.
        labels : sequence
            One for each of the rows.
        names : sequence of str, optional
            Labels are an index into them.
        least : float
            A node that fewer rows claim than this is left white.
        ax : matplotlib Axes, optional
        """
        final = final_step(model)
        rows_not_labels(Y)
        if not hasattr(final, "responsibilities"):
            raise TypeError(
                f"{type(final).__name__} has no responsibilities for the nodes of a grid, so there is no class map. A "
                "GTM and its variants have; LatentDisplay draws the positions of this model by class."
            )
        chosen_dims(final, (0, 1), cls.__name__)
        if final.nodes_.shape[1] != 2:
            raise ValueError(
                f"{cls.__name__} needs a grid of two dimensions, and that of this {type(final).__name__} has "
                f"{final.nodes_.shape[1]}: fit it with a grid such as (15, 15), or draw LatentDisplay."
            )
        if labels is None:
            raise ValueError("A class map needs labels, one for each row: from_estimator(model, labels=labels).")
        rows = final.rows_ if Y is None else Y if model is final else model[:-1].transform(Y)
        labels = labels_for(labels, len(rows), rows="the model has" if Y is None else "Y has")
        R = final.responsibilities(rows)
        classes = classes_of_both(labels, None, names, R.shape[1], 0)[0]
        if not classes.names:
            raise ValueError("A class map needs classes, and every label is missing (None or NaN).")
        shares, counts = class_shares(R, classes.which, len(classes.names))
        return cls(final.nodes_, shares, counts, R.T @ final.nodes_, labels, names, least=least).plot(ax)

    def draw(self, ax) -> None:
        """Nodes as cells, rows as markers, a legend."""
        cells, limits = self.cells()
        self.image_ = ax.imshow(cells, extent=limits, origin="lower", aspect="auto", interpolation="nearest")
        size = point_size(len(self.positions))
        self.scatters_ = scatter_by_class(ax, self.positions, self.classes, size, edge="white", line=0.7)
        frame(ax, limits, self.positions)
        ax.set(xlabel="latent dimension 1", ylabel="latent dimension 2")
        entries = [(name, class_look(k)) for k, name in enumerate(self.classes.names)]
        self.legend_ = legend_above(ax, entries + [(NOT_KNOWN, UNKNOWN)] * bool(np.any(self.classes.which < 0)))
        remark_below(ax, f"Paler: a smaller share of the node. White: claimed by fewer than {self.least:g} rows.")

    def cells(self) -> tuple[np.ndarray, tuple[float, ...]]:
        """Colours of the nodes as an image (rows from below, columns, 3), and its limits."""
        across, column = np.unique(self.nodes[:, 0], return_inverse=True)
        up, row = np.unique(self.nodes[:, 1], return_inverse=True)
        cells = np.ones((len(up), len(across), 3))
        for node, k in enumerate(self.winners):
            if k >= 0:
                strength = STRONGEST * self.shares[node, k]
                cells[row[node], column[node]] = 1.0 - strength * (1.0 - np.array(to_rgb(class_look(k)["color"])))
        return cells, (*_edges(across), *_edges(up))

    def summary(self) -> str:
        """How many nodes are claimed, by how many classes."""
        return f"{int(np.sum(self.winners >= 0))} of {len(self.nodes)} nodes, {len(self.classes.names)} classes"


def class_shares(R, which, n_classes) -> tuple[np.ndarray, np.ndarray]:
    """Share of each class in what claims each node, (K, C), and how many rows claim it, (K,), from R (K, N).

    Examples
    --------
    >>> shares, counts = class_shares(np.array([[1.0, 0.5, 0.5], [0.0, 0.0, 0.0]]), np.array([0, 0, 1]), 2)
    >>> shares, counts
    (array([[0.75, 0.25],
           [0.  , 0.  ]]), array([2., 0.]))
    """
    claims = R @ (which[:, None] == np.arange(n_classes))  # (K, C); which is -1 for a row of no known class
    counts = claims.sum(axis=1)
    return claims / np.where(counts > 0, counts, 1.0)[:, None], counts


def _edges(places):
    """From half a step before the first place to half a step behind the last."""
    half = 0.5 * (places[1] - places[0]) if len(places) > 1 else 0.5
    return float(places[0] - half), float(places[-1] + half)
