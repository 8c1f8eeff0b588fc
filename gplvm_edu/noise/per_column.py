"""`PerColumn`: real values, answers and grades in one table, each column with the noise it deserves."""
import numpy as np

from .model import Noise, _rng
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
        models = list(models)
        wrong = [m for m in models if not isinstance(m, Noise) or isinstance(m, PerColumn)]
        if not models or wrong:
            raise ValueError(f"PerColumn needs a list of noise models, one for each column, such as [Gaussian(0.1), "
                             f"Probit()], got {wrong[0] if wrong else models!r}.")
        self.models = models

    @property
    def blocks(self):
        """[(model, its columns)], every model once."""
        found = {}
        for d, model in enumerate(self.models):
            found.setdefault(id(model), (model, []))[1].append(d)
        return [(model, np.array(columns)) for model, columns in found.values()]

    @property
    def needs_start(self):
        return any(model.needs_start for model in self.models)

    def _terms(self, Y, mean, variance):
        self._demand_columns(Y)
        out = Terms(*np.zeros((3, *Y.shape)))
        for model, d in self.blocks:
            for whole, part in zip(out, model._terms(Y[..., d], mean[..., d], variance[..., d]), strict=True):
                whole[..., d] = part
        return out

    def _stand_in(self, Y):
        values = np.ones(len(self.models))
        for model, d in self.blocks:
            values[d] = model._stand_in(None)
        return values

    def _check_values(self, Y):
        self._demand_columns(Y)
        Y = Y.copy()
        for model, d in self.blocks:
            try:
                Y[:, d] = model._check_values(Y[:, d])
            except ValueError as error:
                raise ValueError(f"In columns {d.tolist()} of Y, which have {model}: {error}") from None
        return Y

    def _demand_columns(self, Y):
        if np.ndim(Y) < 1 or Y.shape[-1] != len(self.models):
            raise ValueError(f"PerColumn has {len(self.models)} noise models, but Y has shape {np.shape(Y)}: one model "
                             "for each column is needed (chapter 8, \"A noise for each column\").")

    def _mapped(self, change):
        """A copy with every model changed once, so that columns which shared one still do."""
        changed = list(self.models)
        for model, d in self.blocks:
            new = change(model, d)
            for column in d:
                changed[column] = new
        return PerColumn(changed)

    def start(self, Y, prior_variance=1.0):
        """A copy whose models are each started from their own columns."""
        Y = np.asarray(Y, float)
        return self._mapped(lambda model, d: model.start(Y[:, d], prior_variance))

    def learn(self, Y, mean, variance, max_iter=50):
        """A copy whose models have each learnt from their own columns."""
        Y, mean, variance = np.broadcast_arrays(Y, mean, variance)
        return self._mapped(lambda model, d: model.learn(Y[:, d], mean[:, d], variance[:, d], max_iter))

    def predict(self, mean, variance):
        """The expected y of every column, in that column's own terms."""
        return self._columnwise("predict", mean, variance)

    def deviation(self, mean, variance):
        """Standard deviation of y, in each column's own terms."""
        return self._columnwise("deviation", mean, variance)

    def sample(self, f, random_state=None):
        """Observations of given latent values (N, D)."""
        rng, f = _rng(random_state), np.asarray(f, float)
        out = np.empty(f.shape)
        for model, d in self.blocks:
            out[..., d] = model.sample(f[..., d], rng)
        return out

    def _columnwise(self, method, mean, variance):
        mean, variance = np.broadcast_arrays(mean, variance)
        out = np.empty(mean.shape)
        for model, d in self.blocks:
            out[..., d] = getattr(model, method)(mean[..., d], variance[..., d])
        return out

    def rows(self, index):
        """The model of some rows."""
        return self._mapped(lambda model, d: model.rows(index))

    def column(self, d):
        """The model of column d."""
        model, columns = next(block for block in self.blocks if d in block[1])
        return model.column(int(np.flatnonzero(columns == d)[0]))

    def _described(self):
        return {"models": self.models}

    def __eq__(self, other):
        return type(self) is type(other) and self.models == other.models

    __hash__ = None

    def __repr__(self):
        return f"PerColumn([{', '.join(map(repr, self.models))}])"
