"""What the posterior really is: a long run of a Markov chain, against which approximations are held."""

import numpy as np

from .. import checks


def elliptical_slice_samples(K, y, noise, n_samples, n_chains=8, n_burn=200, random_state=None) -> np.ndarray:
    r"""Draws of f from its posterior, (n_chains, n_samples, N), by elliptical slice sampling; no step size to tune.

    .. math:: f' = f \cos\theta + \epsilon \sin\theta, \qquad \epsilon \sim N(0, K), \qquad
              \ln p(y \mid f') > \ln p(y \mid f) + \ln u, \quad u \sim U(0, 1)

    Parameters
    ----------
    K, y, noise : as in `adf_posterior`
    n_samples, n_chains, n_burn : int
        Kept draws of each chain, chains, and draws that each forgets first. Chains start at draws of the prior.
    random_state : as elsewhere

    Notes
    -----
    A new f lies on the ellipse through the old one and a draw of the prior. An angle that is refused shrinks the range
    of angles towards 0, where the old f lies, so every step ends. Costs O(N^2) a draw of a chain, and several
    likelihoods. Murray, Adams and MacKay (2010).

    Examples
    --------
    >>> from gplvm_edu.noise import Gaussian
    >>> draws = elliptical_slice_samples(np.eye(1), np.array([2.0]), Gaussian(1.0), 2000, random_state=0)
    >>> draws.shape, round(float(draws.mean()), 1), round(float(draws.var()), 1)              # N(1, 1/2)
    ((8, 2000, 1), 1.0, 0.5)
    """
    rng, N = checks.generator(random_state), len(K)
    root = np.linalg.cholesky(K + 1e-10 * np.mean(np.diag(K)) * np.eye(N)).T

    def log_likelihood(f):
        return np.sum(noise.log_partition(y[:, None], f.T, np.zeros((N, len(f)))), axis=0)

    f = rng.standard_normal((n_chains, N)) @ root
    level, draws = log_likelihood(f), np.empty((n_chains, n_samples, N))
    for step in range(-n_burn, n_samples):
        prior = rng.standard_normal((n_chains, N)) @ root
        floor = level + np.log(rng.random(n_chains))
        angle = rng.uniform(0.0, 2.0 * np.pi, n_chains)
        low, high, going = angle - 2.0 * np.pi, angle.copy(), np.arange(n_chains)
        new = f.copy()
        while len(going):
            cos, sin = np.cos(angle[going])[:, None], np.sin(angle[going])[:, None]
            new[going] = f[going] * cos + prior[going] * sin
            level[going] = log_likelihood(new[going])
            going = going[level[going] <= floor[going]]
            low[going] = np.where(angle[going] < 0, angle[going], low[going])
            high[going] = np.where(angle[going] >= 0, angle[going], high[going])
            angle[going] = rng.uniform(low[going], high[going])
        f = new
        if step >= 0:
            draws[:, step] = f
    return draws


def split_r_hat(draws) -> np.ndarray:
    r"""How far chains still differ, (N,): each is cut in two, and the means of the halves are held against spread.

    .. math:: \hat R = \sqrt{1 + \frac{\mathrm{var}(\text{means of the halves})}{\text{mean of their variances}}}

    Parameters
    ----------
    draws : ndarray (n_chains, n_samples, N)

    Notes
    -----
    1 where nothing differs; 1.01 is the usual bar. Gelman et al. (2013), section 11.4, for many draws.

    Examples
    --------
    >>> draws = np.random.default_rng(0).standard_normal((4, 1000, 1))
    >>> bool(split_r_hat(draws)[0] < 1.01), bool(split_r_hat(draws + np.arange(4)[:, None, None])[0] > 1.5)
    (True, True)
    """
    half = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :half], draws[:, half : 2 * half]])
    return np.sqrt(1.0 + halves.mean(axis=1).var(axis=0, ddof=1) / halves.var(axis=1, ddof=1).mean(axis=0))


def effective_size(draws) -> np.ndarray:
    r"""How many independent draws would know the mean as well, (N,): by means of batches of each chain.

    .. math:: n_{\mathrm{eff}} = n \, \frac{\mathrm{var}(f)}{L\, \mathrm{var}(\text{means of batches of length } L)}

    Parameters
    ----------
    draws : ndarray (n_chains, n_samples, N)

    Notes
    -----
    L is the root of the length of a chain: right as long as draws forget one another within it.

    Examples
    --------
    >>> draws = np.random.default_rng(0).standard_normal((8, 2500, 1))
    >>> bool(15_000 < effective_size(draws)[0] < 27_000)                          # 20000 that are independent
    True
    """
    n_chains, n_samples, N = draws.shape
    length = int(np.sqrt(n_samples))
    batches = draws[:, : n_samples // length * length].reshape(n_chains, -1, length, N).mean(axis=2)
    flat, means = draws.reshape(-1, N), batches.reshape(-1, N)
    return len(flat) * flat.var(axis=0) / (length * means.var(axis=0, ddof=1))
