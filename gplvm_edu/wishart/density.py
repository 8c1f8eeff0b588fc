"""The Wishart distribution: what a kernel matrix follows when its features are independent Gaussian processes.

With fewer degrees of freedom than points the matrix is singular, and so is its distribution; both cases are here.
"""

import numpy as np
from scipy import linalg
from scipy.special import multigammaln

from .. import checks
from ..linalg import log_determinant, solve_cholesky

RANK_TOLERANCE = 1e-10  # an eigenvalue below this share of the largest counts as zero


def sample_features(scale, degrees_of_freedom, random_state=None) -> np.ndarray:
    r"""Draw r independent feature dimensions (N, r), each a Gaussian over all N points.

    .. math:: F = [g_1, \dots, g_r], \qquad g_j \sim N(0, \Sigma)

    Parameters
    ----------
    scale : ndarray (N, N)
        Sigma, positive semi-definite: the covariance of one feature over the points.
    degrees_of_freedom : int
        r, the number of features.
    random_state : None, int, RandomState or Generator

    Notes
    -----
    Costs O(N^3 + N^2 r). Chapter 4, equation (4.2); Zhang et al. (2004), theorem 1.

    Examples
    --------
    >>> sample_features(np.eye(3), 5, random_state=0).shape
    (3, 5)
    """
    Sigma, r = scale, degrees_of_freedom
    rng = checks.generator(random_state)
    lam, U = linalg.eigh(Sigma)
    root = U * np.sqrt(np.maximum(lam, 0.0)) @ U.T  # the symmetric root: no sign of an eigenvector enters
    return root @ rng.standard_normal((len(Sigma), r))  # (4.2)  (N, r)


def sample_wishart(scale, degrees_of_freedom, n_samples=1, random_state=None) -> np.ndarray:
    r"""Draw kernel matrices (n_samples, N, N) of mean r Sigma from the Wishart distribution, singular when r < N.

    .. math:: A = F F^\top = \sum_{j=1}^{r} g_j g_j^\top \sim W_N(r, \Sigma)

    Parameters
    ----------
    scale, degrees_of_freedom, random_state : as in `sample_features`
    n_samples : int

    Notes
    -----
    Costs O(N^3 + n_samples N^2 r). Chapter 4, equation (4.3).

    Examples
    --------
    >>> A = sample_wishart(np.eye(4), degrees_of_freedom=2, random_state=0)[0]
    >>> A.shape, int(np.linalg.matrix_rank(A))
    ((4, 4), 2)
    """
    r, N = degrees_of_freedom, len(scale)
    F = sample_features(scale, n_samples * r, random_state).reshape(N, n_samples, r).transpose(1, 0, 2)
    return F @ F.transpose(0, 2, 1)  # (4.3)  (n_samples, N, N)


def features_from_kernel(A, degrees_of_freedom, random_state=None) -> np.ndarray:
    r"""Features (N, r) that have A as their kernel matrix: a root of A, turned at random.

    .. math:: F = U \Lambda^{1/2} Q, \qquad Q Q^\top = I, \quad Q \text{ uniform}

    If A is Wishart with r degrees of freedom, the columns of F are independent N(0, Sigma): the converse half of
    the theorem. The random turn is needed; a fixed root has dependent columns.

    Parameters
    ----------
    A : ndarray (N, N)
        Positive semi-definite, of rank min(r, N) at most.
    degrees_of_freedom : int
    random_state : None, int, RandomState or Generator

    Notes
    -----
    Costs O(N^3 + r k^2 + N k r) with k = min(N, r). Chapter 4, equation (4.5).

    Examples
    --------
    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> F = features_from_kernel(A, 5, random_state=0)
    >>> F.shape, bool(np.allclose(F @ F.T, A))
    ((2, 5), True)
    """
    N, r = len(A), degrees_of_freedom
    k = min(N, r)
    rng = checks.generator(random_state)
    lam, U = linalg.eigh(A, subset_by_index=[N - k, N - 1])
    Q, T = linalg.qr(rng.standard_normal((r, k)), mode="economic")
    Q = (Q * np.where(np.diag(T) < 0, -1.0, 1.0)).T  # uniform, orthonormal rows  (k, r)
    return U * np.sqrt(np.maximum(lam, 0.0)) @ Q  # (4.5)  (N, r)


def wishart_log_density(A, degrees_of_freedom, scale) -> float:
    r"""Log density of a kernel matrix under the Wishart distribution, ordinary or singular.

    .. math:: \ln p(A) = -\tfrac r2 \ln |\Sigma| + \tfrac{r-N-1}{2} \sum_{i \le k} \ln \lambda_i
              - \tfrac12 \mathrm{tr}(\Sigma^{-1} A) - \ln c(N, r), \qquad k = \min(r, N)

    with the nonzero eigenvalues lambda of A. For r > N - 1 it is a density over the entries on and above the diagonal;
    for r < N over the matrices of rank r, with respect to the measure (4.10) of the chapter.

    Parameters
    ----------
    A : ndarray (N, N)
        Positive semi-definite, of rank min(r, N) exactly.
    degrees_of_freedom : float
        r; below N it must be a whole number.
    scale : ndarray (N, N)
        Sigma, positive definite.

    Notes
    -----
    Costs O(N^3). Chapter 4, equations (4.8) and (4.9); Zhang et al. (2004), equation (22); Srivastava (2003).

    Examples
    --------
    >>> from scipy.stats import wishart
    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> bool(np.isclose(wishart_log_density(A, 4, np.eye(2)), wishart(4, np.eye(2)).logpdf(A)))
    True
    >>> round(wishart_log_density(np.array([[1.0, 1.0], [1.0, 1.0]]), 1, np.eye(2)), 4)      # rank 1: singular
    -3.531
    """
    r, N, Sigma = degrees_of_freedom, len(A), scale
    lam = linalg.eigvalsh(A)
    lam = lam[lam > RANK_TOLERANCE * max(lam[-1], 0.0)]
    _demand_rank(len(lam), r, N)
    L = linalg.cholesky(Sigma, lower=True)
    volume = 0.5 * (r - N - 1) * np.sum(np.log(lam))
    fit = -0.5 * (r * log_determinant(L) + np.trace(solve_cholesky(L, A)))
    ln_c = 0.5 * r * N * np.log(2.0) + multigammaln(0.5 * r, len(lam))  # (4.8)
    if r <= N - 1:
        ln_c += 0.5 * r * (N - r) * np.log(np.pi)  # (4.9)
    return float(volume + fit - ln_c)


def log_frame_volume(n_rows, n_columns) -> float:
    r"""Log volume of all matrices Q with orthonormal rows: of the spheres on which the rows lie, one after the other.

    .. math:: \mathrm{vol}(N, r) = \prod_{i=1}^{N} \frac{2 \pi^{(r-i+1)/2}}{\Gamma\big(\frac{r-i+1}{2}\big)}
              = \frac{2^N \pi^{rN/2}}{\Gamma_N(r/2)}

    Parameters
    ----------
    n_rows, n_columns : int
        N and r, N at most r.

    Notes
    -----
    Chapter 4, equation (4.7).

    Examples
    --------
    >>> sphere, frames = np.exp([log_frame_volume(1, 3), log_frame_volume(2, 3)])
    >>> round(sphere / np.pi, 6), round(frames / np.pi**2, 6)  # a sphere, then a circle for each of its points
    (np.float64(4.0), np.float64(8.0))
    """
    N, r = n_rows, n_columns
    return float(N * np.log(2.0) + 0.5 * r * N * np.log(np.pi) - multigammaln(0.5 * r, N))  # (4.7)


def _demand_rank(rank, r, N):
    """Raise a clear error unless a matrix of this rank can be a Wishart matrix with r degrees of freedom."""
    is_number = bool(np.isscalar(r) and np.isreal(r))
    if not (is_number and np.isfinite(r) and r > 0) or (r <= N - 1 and r != int(r)):
        raise ValueError(
            f"degrees_of_freedom must be a whole number from 1 to {N - 1}, or any number above {N - 1}; "
            f'got {r!r} (chapter 4, "A density for a matrix").'
        )
    expected = int(min(r, N)) if r <= N - 1 else N
    if rank != expected:
        raise ValueError(
            f"A is {N} x {N} of rank {rank}, but with degrees_of_freedom={r:g} a Wishart matrix has rank {expected} "
            "with probability one, so A has no density there. A centred kernel matrix is always singular: pass "
            "B'AB and B'ΣB with B = scipy.linalg.helmert(N).T instead (chapter 4, \"A centred kernel is always "
            'singular").'
        )
