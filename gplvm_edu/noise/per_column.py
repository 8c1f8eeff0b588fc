"""`PerColumn`: real values, answers and grades in one table, each column with its own noise."""

from typing import Any, Self

import numpy as np

from .. import checks
from .model import Noise, together
from .terms import Terms


class PerColumn(Noise):
    """A noise model for each column of Y; columns given the very same object are treated together.

    Parameters
    ----------
    models : sequence of Noise
        One for each column.

    Examples
    --------
    >>> from gplvm_edu.noise import Gaussian, Probit
    >>> mixed = PerColumn([Gaussian(0.1, mean=0.0), Probit(0.0)])
    >>> mixed.log_partition([[0.0, 1.0]], [[0.0, 0.0]], [[1.0, 1.0]]).round(3)
    array([[-0.967, -0.693]])
    """

    def __init__(self, models):
        models = list(models) if isinstance(models, (list, tuple)) else [models]
        wrong = [m for m in models if not isinstance(m, Noise) or isinstance(m, PerColumn)]
        if not models or wrong:
            raise ValueError(
                f"PerColumn needs a list of noise models, one for each column, such as [Gaussian(0.1), "
                f"Probit()], got {checks.shown(wrong[0] if wrong else models)}."
            )
        self.models = models

    @property
    def blocks(self) -> list:
        """[(model, its columns)], every model once."""
        found: dict = {}
        for d, model in enumerate(self.models):
            found.setdefault(id(model), (model, []))[1].append(d)
        return [(model, np.array(columns)) for model, columns in found.values()]

    def observed_terms(self, Y, mean, variance) -> Terms:
        """ln Z, g and nu of observed entries, each column by its own model."""
        self._demand_columns(Y)
        out = Terms(*np.zeros((3, *Y.shape)))
        for model, d in self.blocks:
            for whole, part in zip(out, model.observed_terms(Y[..., d], mean[..., d], variance[..., d]), strict=True):
                whole[..., d] = part
        return out

    def stand_in(self, Y):
        """A legal value for each column."""
        values = np.ones(len(self.models))
        for model, d in self.blocks:
            values[d] = model.stand_in(None)
        return values

    def check_values(self, Y) -> np.ndarray:
        """Y, if each column is what its own model understands."""
        self._demand_columns(Y)
        Y = Y.copy()
        for model, d in self.blocks:
            try:
                Y[:, d] = model.check_values(Y[:, d])
            except ValueError as error:
                raise ValueError(f"In columns {d.tolist()} of Y, which have {model}: {error}") from None
        return Y

    def _demand_columns(self, Y):
        if np.ndim(Y) < 1 or Y.shape[-1] != len(self.models):
            raise ValueError(
                f"PerColumn has {len(self.models)} noise models, but the array has shape {np.shape(Y)}: one model "
                'for each column is needed (chapter 8, "A noise for each column").'
            )

    def _rows_of_columns(self, Y):
        """Y as floats (N, D)."""
        Y = checks.floats("Y", Y)
        self._demand_columns(Y if Y.ndim == 2 else np.zeros(0))
        return Y

    def mapped(self, change) -> Any:
        """A copy with every model changed once, by change(model, its columns): those that shared one still do."""
        changed = list(self.models)
        for model, d in self.blocks:
            new = change(model, d)
            for column in d:
                changed[column] = new
        return PerColumn(changed)

    def start(self, Y, prior_variance=1.0) -> Self:
        """A copy whose models are each started from their own columns."""
        Y = self._rows_of_columns(Y)
        return self.mapped(lambda model, d: model.start(Y[:, d], prior_variance))

    def learn(self, Y, mean, variance, max_iter=50) -> Self:
        """A copy whose models have each learnt from their own columns."""
        Y, mean, variance = together(self._rows_of_columns(Y), mean, variance)
        return self.mapped(lambda model, d: model.learn(Y[:, d], mean[:, d], variance[:, d], max_iter))

    @property
    def learns_variance(self) -> bool:
        """Whether any column has a variance that is free."""
        return any(model.learns_variance for model in self.models)

    def learn_variance(self, squares) -> Self:
        """A copy whose Gaussian columns have each learnt their variance, equation (8.29b)."""
        return self.mapped(lambda model, d: model.learn_variance(squares[:, d]))

    def predict(self, mean, variance):
        """The expected y of every column, in that column's own terms."""
        return self._columnwise("predict", mean, variance)

    def deviation(self, mean, variance):
        """Standard deviation of y, in each column's own terms."""
        return self._columnwise("deviation", mean, variance)

    def signal_deviation(self, mean, variance):
        """Standard deviation of E[y | f], in each column's own terms."""
        return self._columnwise("signal_deviation", mean, variance)

    def draw(self, f, rng):
        """Observations of given latent values (N, D)."""
        self._demand_columns(f)
        out = np.empty(f.shape)
        for model, d in self.blocks:
            out[..., d] = model.draw(f[..., d], rng)
        return out

    def _columnwise(self, method, mean, variance):
        mean, variance = together(mean, variance)
        self._demand_columns(mean)
        out = np.empty(mean.shape)
        for model, d in self.blocks:
            out[..., d] = getattr(model, method)(mean[..., d], variance[..., d])
        return out

    def rows(self, index) -> Self:
        """The model of some rows."""
        return self.mapped(lambda model, d: model.rows(index))

    def parameters(self) -> dict:
        """The models, one for each column, by name."""
        return {"models": self.models}

    def __eq__(self, other):
        return type(self) is type(other) and self.models == other.models

    __hash__ = None

    def __repr__(self):
        return f"PerColumn([{', '.join(map(repr, self.models))}])"
