"""What a fit came to: `HistoryDisplay` shows how its objective rose, `RelevanceDisplay` which dimensions it kept."""

from typing import Self

import matplotlib
import numpy as np

from ..plane import final_step
from .display import Display, legend_above, line_look, remark_below
from .style import PALETTE, QUIET, plain_text


class HistoryDisplay(Display):
    """The objective of an iterative fit against its steps, and whether it had converged.

    Parameters
    ----------
    history : array (n,)
        Objective at each state, the start included; larger is better.
    converged : bool or None
    name : str
        Of the model.

    Attributes
    ----------
    ax_, figure_, line_, legend_ : what was drawn last; several on the same axes share a legend

    Examples
    --------
    >>> from gplvm_edu import GTM
    >>> from gplvm_edu.datasets import simulate_oil_flow
    >>> model = GTM(grid=(5, 5), basis=(2, 2), max_iter=100).fit(simulate_oil_flow(40, random_state=0).data)
    >>> HistoryDisplay.from_estimator(model).converged
    True
    """

    size = (6.4, 3.4)

    def __init__(self, history, converged=None, name=""):
        self.history, self.converged, self.name = np.asarray(history, float), converged, name

    @classmethod
    def from_estimator(cls, model, *, ax=None) -> Self:
        """Ask a fitted model, or the last step of a pipeline, for its history, and draw it into `ax`."""
        final = final_step(model)
        if getattr(final, "history_", None) is None:
            raise TypeError(
                f"{type(final).__name__} has no history_: it is not fitted step by step, so no objective rises."
            )
        return cls(final.history_, getattr(final, "converged_", None), type(final).__name__).plot(ax)

    def draw(self, ax) -> None:
        """The objective as a line, its last value as a dot, the verdict in the legend."""
        steps, dots = np.arange(len(self.history)), "o" if len(self.history) < 3 else None
        (self.line_,) = ax.plot(steps, self.history, marker=dots, label=plain_text(self.verdict()))
        ax.plot(steps[-1:], self.history[-1:], "o", color=self.line_.get_color())
        ax.set(xlabel="step (0: the start)", ylabel="objective (larger is better)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
        self.legend_ = legend_above(ax, [(line.get_label(), line_look(line)) for line in lines], longest=60)

    def verdict(self) -> str:
        """How the fit ended, in words."""
        steps = f"{len(self.history) - 1} step{'' if len(self.history) == 2 else 's'}"
        if self.converged is None:
            return f"{self.name}: {steps}"
        if not self.converged:
            return f"{self.name}: NOT converged after {steps}"
        return f"{self.name}: converged after {steps}"

    def summary(self) -> str:
        """How the fit ended, in words."""
        return self.verdict()


class RelevanceDisplay(Display):
    """How much each latent dimension matters: ARD weights as shares of the largest, those in use in colour.

    Parameters
    ----------
    relevance : array (q,)
        ARD weights (`relevance_`).
    active : sequence of int
        Dimensions in use (`active_dims_`), counted from 0 (and named from 1).
    threshold : float or None
        The share of the largest weight above which a dimension is in use.

    Attributes
    ----------
    ax_, figure_ : where it was drawn last
    bars_ : matplotlib BarContainer
    line_ : the threshold, or None
    legend_ : matplotlib Legend

    Examples
    --------
    >>> RelevanceDisplay([2.0, 0.001, 0.5], active=[0, 2], threshold=0.01)
    RelevanceDisplay(2 of 3 dimensions in use)
    """

    size = (6.4, 3.4)
    least = 1e-4  # share of the largest weight at which the axis begins

    def __init__(self, relevance, active, threshold=None):
        self.relevance, self.active = np.asarray(relevance, float), [int(k) for k in active]
        self.threshold = threshold

    @classmethod
    def from_estimator(cls, model, *, ax=None) -> Self:
        """Ask a fitted model, or the last step of a pipeline, for its relevances, and draw them into `ax`."""
        final = final_step(model)
        if getattr(final, "relevance_", None) is None:
            raise TypeError(
                f"{type(final).__name__} does not weigh its latent dimensions (it has no relevance_). BayesianGPLVM "
                "does: it is offered several, and keeps those that the data need (chapter 12)."
            )
        return cls(final.relevance_, final.active_dims_, getattr(final, "active_above", None)).plot(ax)

    def draw(self, ax) -> None:
        """A bar for each dimension on a logarithmic scale, and the threshold."""
        shares, q = self.relevance / np.max(self.relevance), len(self.relevance)
        colours = [PALETTE[0] if k in self.active else QUIET for k in range(q)]
        self.bars_ = ax.bar(np.arange(1, q + 1), shares, color=colours, width=0.7)
        ax.set(yscale="log", ylim=(self.least, 2.0), xlim=(0.4, q + 0.6), xticks=ticks_up_to(q))
        ax.set(xlabel="latent dimension", ylabel="relevance (largest: 1)")
        entries = [("in use", dict(color=PALETTE[0], marker="s")), ("not in use", dict(color=QUIET, marker="s"))]
        self.line_ = None
        if self.threshold is not None:
            ink = matplotlib.rcParams["text.color"]
            self.line_ = ax.axhline(self.threshold, color=ink, linestyle="--", linewidth=1.2)
            entries.append((f"threshold: {self.threshold:g} of the largest", line_look(self.line_)))
        self.legend_ = legend_above(ax, entries if len(self.active) < q else [entries[0], *entries[2:]])
        if np.any(shares < self.least):
            remark_below(ax, f"A dimension without a bar is below {self.least:g} of the largest.")

    def summary(self) -> str:
        """How many dimensions are in use."""
        return f"{len(self.active)} of {len(self.relevance)} dimensions in use"


def ticks_up_to(q) -> np.ndarray:
    """Numbers of dimensions from 1 to q, at most about 20 of them.

    Examples
    --------
    >>> ticks_up_to(3), ticks_up_to(50)[:3]
    (array([1, 2, 3]), array([1, 4, 7]))
    """
    return np.arange(1, q + 1, -(-q // 20))
