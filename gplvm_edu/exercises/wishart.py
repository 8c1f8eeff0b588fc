"""Checkers of chapter 4. Each compares an answer with a second way to the same number, on problems of several sizes."""

from functools import lru_cache

import numpy as np

from ..datasets import load_iris
from ..kernels import RBF
from ..linalg import double_centre, squared_distances
from ..wishart import distance_covariance, em_progress, em_step, kernel_covariance, maximum_likelihood, start_positions
from . import checker
from .answers import close, number, numbers, two_parts
from .guard import shapes_given

SPECTRAL = {"eig", "eigh", "eigvals", "eigvalsh", "eigs", "eigsh", "svd", "svdvals", "svds", "schur"}


def _kernel_matrix(seed=0, N=9, r=7):
    """A kernel matrix A = FF' of rank r with two strong directions."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((N, 2)) @ rng.standard_normal((2, r)) + 0.5 * rng.standard_normal((N, r)) + 1.0
    return F @ F.T


def _pair(answer, shapes):
    """The two parts of an answer as arrays, or the hint that says what was expected."""
    first, second = (numbers(part) for part in two_parts(answer))
    if len(shapes[1]) < 2 and second.size == np.prod(shapes[1], dtype=int):
        second = second.reshape(shapes[1])
    if (first.shape, second.shape) != shapes:
        return None, None, f"The two parts should have the shapes {shapes}, yours have {(first.shape, second.shape)}."
    return first, second, None


@checker("wishart.1")
def moments(function):
    """function(Sigma, r): mean and variance of every entry of A ~ W(r, Sigma)."""
    for seed, N, r in ((0, 3, 6), (1, 4, 2)):
        F = np.random.default_rng(seed).standard_normal((N, 5))
        Sigma = F @ F.T
        mean, variance, hint = _pair(function(Sigma, r), ((N, N), (N, N)))
        if hint:
            return hint
        product = np.outer(np.diag(Sigma), np.diag(Sigma))
        right = r * (Sigma**2 + product)
        if not close(mean, r * Sigma):
            return "The mean is not right yet: A is a sum of r terms g g', and each has the mean Sigma."
        if close(variance, right):
            continue
        if close(variance, r * product):
            return "You took g_n and g_m as independent: three products of pairs appear in <g_n g_m g_n g_m>."
        if close(variance, right * r):
            return "r independent terms are added, so variances add: a factor r, not r squared."
        if close(variance, r * (2 * Sigma**2 + product)):
            return "That is the mean square of each term. The square of its mean is to be taken away."
        if close(variance**2, right):
            return "These are standard deviations; variances are asked for."
        return (
            "The mean is right, the variance is not. Start from <g_n g_n g_m g_m> = Sigma_nn Sigma_mm + 2 Sigma_nm^2."
        )
    return None


@checker("wishart.2")
def positions_from_distances(function):
    """function(D2, q): latent positions and noise variance from the matrix of squared distances."""
    for seed, N, q in ((1, 10, 2), (2, 12, 3)):
        Y = np.random.default_rng(seed).standard_normal((N, 5)) * [4.0, 3.0, 2.0, 1.0, 0.5]
        D2 = squared_distances(Y)
        X, s2 = maximum_likelihood(distance_covariance(D2), q)
        ours, noise, hint = _pair(function(D2, q), ((N, q), ()))
        if hint:
            return hint
        if close(noise, s2) and close(ours @ ours.T, X @ X.T, 1e-5, 1e-8):
            continue
        if close(noise, s2 * (N - q) / (N - 1 - q)):
            return "You averaged over N - 1 - q eigenvalues: the zero that centring makes counts too, (4.21)."
        if close(noise, N * s2):
            return "A factor N: the model wants S = HAH / N, so -1/2 H D2 H is divided by N as well, (4.25)."
        if close(noise, 2 * s2) or close(noise, -2 * s2):
            return "A factor -1/2: see (4.25)."
        if close(noise, np.mean(np.linalg.eigvalsh(distance_covariance(D2**2))[:-q])):
            return "The distances that you are given are squared already."
        centred = ours - ours.mean(axis=0)
        if close(noise, s2) and close(centred @ centred.T, X @ X.T, 1e-5, 1e-8):
            return "The positions are shifted: those of the model sum to zero, (4.20)."
        if close(noise, s2):
            return "The noise is right, the positions are not: their axes are shortened by the noise, (4.20)."
        return f"The noise should be {s2:.4f} for the test data, yours is {float(noise):.4f}."
    return None


@checker("wishart.3")
def em_with_the_printed_factors(function):
    """function(HAH, X, s2): one EM step from HAH instead of S, with the factors N where they belong."""
    for seed, N, q in ((2, 9, 2), (3, 7, 3)):
        S = kernel_covariance(_kernel_matrix(seed, N))
        X, s2 = np.random.default_rng(seed).standard_normal((N, q)), 0.7
        right, mixed = em_step(S, X, s2), em_step(N * S, X, s2)
        ours, noise, hint = _pair(function(N * S, X, s2), ((N, q), ()))
        if hint:
            return hint
        if close(ours, right[0]) and close(noise, right[1]):
            continue
        if close(ours, right[0]) and close(noise, N * right[1]):
            return "X is right. In the noise, HAH brings one factor N and the average over the points another."
        if close(ours, right[0]):
            return f"X is right. The noise should be {right[1]:.4f}, yours is {float(noise):.4f}: HAH = N S."
        if close(ours, mixed[0]) and close(noise, mixed[1] / N):
            return "The noise is divided as it should be, but X+ is the one of the error: N is missing beside s2 too."
        if close(ours, mixed[0]):
            return "That is the error itself: HAH is N S, so what is added to M^-1 X'HAHX must be N times larger too."
        return "X differs from (4.32). Put S = HAH / N into it and see which factors N do not cancel."
    return None


@checker("wishart.4")
def noise_of_the_contrasts(function):
    """function(A, q): the ML noise variance when the offsets are removed instead of estimated."""
    for seed, N, q in ((4, 9, 2), (5, 7, 1)):
        A = _kernel_matrix(seed, N)
        lam = np.linalg.eigvalsh(double_centre(A) / N)[::-1]
        right = lam[q:].sum() / (N - 1 - q)
        value = number(function(A, q))
        if close(value, right):
            continue
        if close(value, lam[q:].sum() / (N - q)):
            return "That is (4.21), with the zero of centring among its N - q eigenvalues. How many has B'AB / N?"
        if close(value, right * N / (N - 1)):
            return "Divide B'AB by N, as before: the scale of the model has not changed, only the space has."
        if close(value, right * N):
            return "A factor N: the eigenvalues are those of B'AB / N."
        if close(value, np.linalg.eigvalsh(A)[:-q].sum() / N / (N - 1 - q)):
            return "These are eigenvalues of A, offsets and all. Take those of the contrasts, B'AB / N."
        return f"For the test kernel it should be {right:.4f}, yours is {value:.4f}."
    return None


@lru_cache
def _iterations():
    """How many steps it takes on iris, kernel exp(-d^2 / 2), from raw PCA scores and noise 0.1; and from noise 1."""
    Y = load_iris().data
    S = kernel_covariance(RBF(1.0, 1.0)(Y))
    counts = np.arange(0, 1001, 2)
    start = start_positions("raw pca", S, 2, Y)
    return [counts[np.argmax(em_progress(S, start, noise, counts)[:, 1] < 0.01)] for noise in (0.1, 1.0)]


@checker("wishart.5")
def iterations_on_iris(answer):
    """EM iterations on iris from raw PCA scores, noise 0.1, until the Procrustes distance is below 1 %.

    Accepted is 5 % to either side, 37 iterations: a run of a thousand shows a state every 25, so the first shown below
    0.01 comes at most 25 too late.
    """
    answer, (exact, of_noise_1) = number(answer), _iterations()
    if 0.95 * exact <= answer <= 1.05 * exact:
        return None
    if 0.95 * of_noise_1 <= answer <= 1.05 * of_noise_1:
        return "That is with noise 1, where the explorer opens. Here EM starts with noise 0.1: more iterations."
    if 1.05 * exact < answer < 1.1 * exact:
        return (
            "That is near the forecast, which does not know that noise 0.1 shortens the start first: fewer. Let EM run."
        )
    if answer == 50:
        return "Fifty is the paper's number. At which does the curve of the distance cross 0.01? More iterations."
    side = "more" if answer < exact else "fewer"
    return f"Look at the curve of the Procrustes distance where it crosses 0.01: {side} iterations."


def _centred_axes(seed, N):
    """Orthonormal columns (N, N - 1) that are orthogonal to 1: contrasts, turned at random."""
    Z = np.random.default_rng(seed).standard_normal((N, N))
    Z[:, 0] = 1.0
    return np.linalg.qr(Z)[0][:, 1:]


def _subspaces():
    """Yield S, a basis of its right subspace, the maximum's XX' and noise, as S was built: no eigenproblem is solved.

    In the first the noise is a millionth of the signal, so that EM would need millions of steps. In the others the
    second and third eigenvalue are equal: two subspaces are equally right, and the basis says which is meant.
    """
    N, q = 9, 2
    mixing = 7.0 * np.array([[1.0, 3.0], [-2.0, 0.5]])
    faint, tied = 1e-6 * np.array([2.0, 1.5, 1.0, 0.8, 0.5, 0.2]), np.array([2.0, 0.5, 0.3, 0.2, 0.1, 0.0])
    for lam, turn in ((np.r_[3.0, 1.0, faint], 0.0), (np.r_[4.0, 2.0, tied], 0.7), (np.r_[4.0, 2.0, tied], 2.0)):
        U = _centred_axes(6, N)
        S, noise = U * lam @ U.T, lam[q:].sum() / (N - q)
        axes = np.column_stack([U[:, 0], np.cos(turn) * U[:, 1] + np.sin(turn) * U[:, 2]])
        yield (S + S.T) / 2, axes @ mixing, axes * (lam[:q] - noise) @ axes.T, noise


@checker("wishart.6")
def finish_em_at_once(function):
    """function(S, X): given any basis X of the right subspace, the positions and the noise of the maximum."""
    for S, X, right, s2 in _subspaces():
        N, q = X.shape
        answer, shapes = shapes_given(SPECTRAL, function, S, X)
        ours, noise, hint = _pair(answer, (X.shape, ()))
        if hint:
            return hint
        if not close(noise, s2, 1e-5, 1e-12):
            if close(noise, s2 * (N - q) / N, 1e-5, 1e-12):
                return "What the subspace leaves is spread over N - q directions, not over N."
            if close(noise, np.trace(S) / (N - q), 1e-5):
                return "That is all the variance. What the subspace explains is to be taken from the trace of S first."
            return (
                f"The noise should be {s2:.4g}, yours is {float(noise):.4g}: the trace of S less what the subspace "
                "explains, over N - q."
            )
        found = ours @ ours.T
        if close(found, right, 1e-5, 1e-5) and (N, N) not in shapes:
            continue
        if close(found, right, 1e-5, 1e-5):
            return (
                f"Right, but an eigenproblem of size {N} x {N} is solved on the way. Write S in an orthonormal basis "
                f"of X's columns: that matrix is {q} x {q}."
            )
        P = X @ np.linalg.pinv(X)
        if close(found, right + s2 * P, 1e-5, 1e-5):
            return "The noise is right, but the axes are not shortened by it: see (4.20)."
        if not close(P @ found @ P, found, 1e-5, 1e-5):
            return (
                "Here two eigenvalues of S are equal, and of the equally good subspaces yours is not the one that X "
                "spans. Does your answer look at X? It needs no eigenvectors of the N x N matrix S."
            )
        return (
            "The noise is right. Write S in an orthonormal basis of X's columns, diagonalise this small matrix, and "
            "shorten its axes as in (4.20)."
        )
    return None


@checker("wishart.7")
def kernel_factor_analysis(function):
    """function(S, X, psi): one EM step when each point has its own noise variance psi."""
    for seed, N, q in ((7, 9, 2), (8, 7, 3)):
        S = kernel_covariance(_kernel_matrix(seed, N, r=20))
        rng = np.random.default_rng(seed)
        X, psi = rng.standard_normal((N, q)), rng.uniform(0.3, 1.5, N)
        right = factor_em_step(S, X, psi)
        first, second = two_parts(function(S, X, psi), "Return two things: the new X, then the N noise variances.")
        if numbers(second).shape == (N, N):
            return "The second part is a vector of N noise variances: take the diagonal."
        ours, noise, hint = _pair((first, second), ((N, q), (N,)))
        if hint:
            return hint
        if close(ours, right[0]) and close(noise, right[1]):
            continue
        if close(ours, right[0]) and close(noise, np.full(N, right[1].mean())):
            return "The noise is averaged over the points: that is (4.33). Here each point keeps its own."
        if close(ours, right[0]) and close(noise, np.diag(S - X @ np.linalg.solve(*_expectations(X, psi)) @ S)):
            return "X is right, but the noise is made with the old X. Put X+ in."
        if close(ours, right[0]):
            return "X is right. The new noise is the diagonal of S - X+ b S, with b = M_psi^-1 X' Psi^-1."
        b = np.linalg.solve(*_expectations(X, psi))
        if close(ours, np.linalg.solve(b @ S @ b.T, b @ S).T):
            return "The weights are uncertain: M_psi^-1 is missing in <w w'> = M_psi^-1 + b S b'."
        before, after = factor_log_likelihood(S, X, psi), factor_log_likelihood(S, ours, np.maximum(noise, 1e-12))
        return (
            f"X is not right yet: a step of EM takes the likelihood from {before:.3f} to "
            f"{factor_log_likelihood(S, *right):.3f}, yours to {after:.3f}."
        )
    return None


def _expectations(X, psi):
    """M_psi and X' Psi^-1, from which b = M_psi^-1 X' Psi^-1 takes a feature to its expected weights."""
    return np.eye(X.shape[1]) + X.T @ (X / psi[:, None]), X.T / psi


def factor_em_step(S, X, psi):
    """One EM step of kernel PCA with a noise variance psi (N,) for each point: the solution of exercise 7."""
    M, scaled = _expectations(X, psi)
    b = np.linalg.solve(M, scaled)
    X_new = np.linalg.solve(np.linalg.inv(M) + b @ S @ b.T, b @ S).T
    return X_new, np.diag(S - X_new @ b @ S)


def factor_log_likelihood(S, X, psi):
    """Log likelihood per feature, but for a constant, when each point has its own noise variance psi (N,)."""
    K = X @ X.T + np.diag(psi)
    return -0.5 * (np.linalg.slogdet(K)[1] + np.trace(np.linalg.solve(K, S)))
