"""t-SNE itself: gradient descent with momentum, gains and early exaggeration, one iterate after another."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..checks import LARGEST, NotFiniteError
from ..threads import suited
from . import fast


class TSNEState(NamedTuple):
    """One iterate: positions (N, q), the cost there, the steps so far, the largest entry of the gradient of N C."""

    X: np.ndarray
    cost: float
    step: int
    gradient_size: float
    stopped: str = ""

    @property
    def value(self) -> float:
        """Minus the cost: larger is better."""
        return -self.cost


def step_size(n_samples, early_exaggeration=12.0) -> float:
    """The course's default, N over the exaggeration: steps of one size whatever N, equation (11.12).

    Examples
    --------
    >>> step_size(60), step_size(1200)
    (5.0, 100.0)
    """
    return n_samples / early_exaggeration  # (11.12)


@suited(lambda *_, **__: 1)
def tsne_iterates(
    P, X, max_iter=1000, early_exaggeration=12.0, n_exaggerated=250, learning_rate=None, every=10, tolerance=1e-7
) -> Iterator[TSNEState]:
    r"""Generator of `TSNEState`: the start, every tenth step, and the last.

    .. math:: V \leftarrow \mu V - \eta\, g \circ \frac{\partial C}{\partial X}, \qquad X \leftarrow X + V

    Parameters
    ----------
    P : ndarray (N, N)
        Joint affinities.
    X : ndarray (N, q)
        Start: small, so that everything can still pass everything else.
    max_iter : int
        Steps altogether.
    early_exaggeration, n_exaggerated : float, int
        For the first steps p is multiplied by this factor, with the momentum 0.5; after them by 1, with 0.8.
    learning_rate : float or None
        eta; None: see `step_size`.
    every : int
        Steps between two iterates that are handed over (the cost is computed for these alone).
    tolerance : float
        Stop when no entry of the gradient of N C exceeds it.

    Notes
    -----
    Costs O(N^2 q) a step. The cost is always that of p itself, so it may rise while p is exaggerated. Chapter 11,
    equations (11.11) and (11.12); van der Maaten and Hinton (2008), section 3.

    Examples
    --------
    >>> from gplvm_edu.tsne import joint_affinities
    >>> Y = np.random.default_rng(0).standard_normal((30, 5)) + 10 * (np.arange(30) % 2)[:, None]
    >>> iterates = list(tsne_iterates(joint_affinities(Y, 5.0), 1e-4 * Y[:, :2], max_iter=400))
    >>> iterates[-1].step, iterates[-1].cost < 0.2 * iterates[0].cost
    (400, True)
    """
    eta = step_size(len(P), early_exaggeration) if learning_rate is None else learning_rate
    V, gains, spread = np.zeros_like(X), np.ones_like(X), np.std(X)
    pulled = early_exaggeration * P
    for step in range(max_iter + 1):
        shown, early = step % every == 0 or step == max_iter, step < n_exaggerated
        cost, gradient = fast.cost_and_gradient(X, pulled if early else P, with_cost=shown and not early)
        size = float(len(P) * np.max(np.abs(gradient)))
        if not np.isfinite(size) or np.max(np.abs(X)) > LARGEST:
            raise NotFiniteError(
                f"After step {step} of the descent the map has left the finite numbers: steps of learning_rate={eta:g} "
                f"are too long here. Use a smaller one, or None for {step_size(len(P), early_exaggeration):.3g} "
                '(chapter 11, "Break it").'
            )
        small = size <= tolerance and not early
        if shown or small:
            cost = cost if shown and not early else fast.cost_and_gradient(X, P)[0]
            yield TSNEState(X.copy(), cost, step, size, "gradient" if small else "")
        if small or step == max_iter:
            return
        turned = V * gradient > 0  # the last step went up: it has overshot
        gains = np.maximum(np.where(turned, 0.8 * gains, gains + 0.2), 0.01)  # (11.11)
        mu = 0.5 if early else 0.8
        V = mu * V - eta * gains * gradient  # (11.11)
        X = X + V - np.mean(X + V, axis=0)
        if early:  # pulled too hard, a small map would shrink to a point: hold it
            X = X * max(1.0, spread / max(np.std(X), 1e-300))
