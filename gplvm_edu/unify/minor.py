"""MinorComponents as a scikit-learn estimator: the low-rank part in the inverse of the covariance."""

from typing import Self

import numpy as np

from .. import checks, tables
from ..base import DensityModel, check_is_fitted
from ..linalg import centre
from .closed_form import minimiser, spectrum

LAWS = "its latent coordinates say how far a row breaks each law, and nothing of where it lies along the others"


class MinorComponents(DensityModel):
    """Minor component analysis: the directions in which data vary least, that is, linear relations that nearly hold.

    Use it when you look for linear laws that the columns nearly obey, and for rows that break them.

    Columns: numbers of comparable scale.
    NaN: in impute.
    Answers: transform, impute, score_samples, sample.
    Cost: O(N D^2 + D^3); at N = 1000, by default, 0.06 seconds.
    Chapter: 3 (book/03_unify.ipynb).

    The inverse covariance is low rank plus a multiple of the identity, K^{-1} = X X' + c I.

    Parameters
    ----------
    n_components : int, default 2
        Number of relations (laws) q, at most the number of columns.
    reverse : bool, default False
        False: minimise KL(S || K), which is maximum likelihood. True: minimise KL(K || S).
    random_state : None, int, RandomState or Generator
        For `sample`.

    Attributes
    ----------
    components_ : ndarray (q, D)
        Unit vectors, that of least variance first.
    variances_ : ndarray (q,)
        Variance of the data along each.
    noise_variance_ : float
        One variance for all other directions: the arithmetic (or, reversed, the harmonic) mean of theirs.
    weights_ : ndarray (D, q)
        X.
    embedding_ : ndarray (N, q)
        How far each point breaks each law.
    mean_ : ndarray (D,)

    Notes
    -----
    Costs O(N D^2 + D^3). Chapter 3, equations (3.21) and (3.23).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((200, 3))
    >>> Y[:, 2] = Y[:, 0] + Y[:, 1] + 0.01 * rng.standard_normal(200)       # a law: y3 = y1 + y2
    >>> law = MinorComponents(n_components=1).fit(Y).components_[0]
    >>> (law / law[0]).round(2)
    array([ 1.,  1., -1.])
    """

    rules = {"n_components": checks.rule(checks.whole_number), "reverse": checks.rule(checks.flag)}
    why_not = {
        name: f"{LAWS}: {consequence}"
        for name, consequence in {
            "inverse_transform": "many rows break the laws alike",
            "jacobian": "there is no map from them to data",
            "log_precision": "there is no map from them to data",
            "place": "they are what `transform` computes, and nothing is searched for",
            "reconstruct": "no noise is set apart from them, of which a row could be freed",
        }.items()
    }

    def __init__(self, n_components: int = 2, reverse: bool = False, random_state: checks.Seed = None):
        self.n_components = n_components
        self.reverse = reverse
        self.random_state = random_state

    def matrix_size(self, N, D) -> int:
        """The sample covariance."""
        return D

    def fit(self, Y, y=None) -> Self:
        """Keep the eigenvectors of the sample covariance with the smallest eigenvalues."""
        Y = self.check_data(Y)
        N, D = Y.shape
        q = self.n_components
        checks.components(q, N, D, D, f"a row has only {D} entries to relate")
        Yc, self.mean_ = centre(Y)
        S = Yc.T @ Yc / N
        lam, V = spectrum(S)
        if lam[-1] <= checks.ROUNDING * lam[0]:
            raise ValueError(
                f"Some combination of the columns of Y (n_samples={N}, n_features={D}) never varies: the smallest "
                f"eigenvalue of its covariance is {lam[-1]:.3g}. A law that holds exactly has an infinite density. "
                'Drop constant or redundant columns, or use more rows than columns; chapter 3, "When S is '
                'singular".'
            )
        kept = min(q, D - 1)  # for q = D the model is the sample covariance itself
        W, c = minimiser(S, kept, self.reverse, "precision") if D > 1 else (np.zeros((1, 0)), 1.0 / lam[0])
        self.noise_variance_, self.variances_ = 1.0 / c, lam[D - q :][::-1]
        self.weights_ = np.pad(W, ((0, 0), (q - kept, 0)))[:, ::-1]
        self.components_ = V[:, D - q :][:, ::-1].T
        self.embedding_ = Yc @ self.components_.T
        return self

    def transform(self, Y) -> np.ndarray:
        """How far each row breaks each law: its coordinates along the minor axes; (N, q)."""
        return (self.check_data(Y, reset=False) - self.mean_) @ self.components_.T

    def score_samples(self, Y) -> np.ndarray:
        """Log density of each row under N(mean, K); (N,)."""
        Yc = self.check_data(Y, reset=False) - self.mean_
        D, q = Yc.shape[1], len(self.variances_)
        Z = Yc @ self.components_.T
        rest = np.maximum(np.sum(Yc**2, axis=1) - np.sum(Z**2, axis=1), 0.0)
        log_det = np.sum(np.log(self.variances_)) + (D - q) * np.log(self.noise_variance_)
        return -0.5 * (D * np.log(2 * np.pi) + log_det + Z**2 @ (1 / self.variances_) + rest / self.noise_variance_)

    def get_covariance(self) -> np.ndarray:
        """The model's covariance of one row, the inverse of X X' + c I; (D, D)."""
        check_is_fitted(self)
        V = self.components_
        return self.noise_variance_ * np.eye(V.shape[1]) + (V.T * (self.variances_ - self.noise_variance_)) @ V

    def impute(self, Y, return_std=False):
        """Y with each gap (NaN) filled by its mean given the rest of its row; optionally its deviation, else 0.

        The model is one Gaussian, so this is its conditional. Costs O(M D^3).
        """
        given, C = Y, self.get_covariance()
        Y = self.check_data(Y, reset=False, gaps=True)
        return_std = checks.flag("return_std", return_std)
        filled, std = Y.copy(), np.zeros_like(Y)
        for n in np.flatnonzero(np.isnan(Y).any(axis=1)):
            gaps, O = np.isnan(Y[n]), ~np.isnan(Y[n])
            B = np.linalg.solve(C[np.ix_(O, O)], C[np.ix_(O, gaps)])  # (observed, missing)
            filled[n, gaps] = self.mean_[gaps] + (Y[n, O] - self.mean_[O]) @ B
            std[n, gaps] = np.sqrt(np.maximum(np.diag(C)[gaps] - np.sum(B * C[np.ix_(O, gaps)], axis=0), 0.0))
        filled, std = tables.like(given, filled), tables.like(given, std)
        return (filled, std) if return_std else filled

    def sample(self, n_samples=1, random_state=None) -> tuple[np.ndarray, np.ndarray]:
        """New rows (n, D), and how far each breaks each law, which is their `transform`, (n, q)."""
        n = self.check_n_samples(n_samples)
        rng = checks.generator(self.random_state if random_state is None else random_state)
        V = self.components_
        Y = np.sqrt(self.noise_variance_) * rng.standard_normal((n, V.shape[1]))
        X = rng.standard_normal((n, len(V))) * np.sqrt(self.variances_)
        return self.mean_ + Y - (Y @ V.T) @ V + X @ V, X
