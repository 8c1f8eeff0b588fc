"""The models of `explore_tsne`: one for each setting of the controls, kept while they may be asked for again."""

from functools import lru_cache

import numpy as np

from gplvm_edu.datasets import load_digits, simulate_oil_flow, unit_variance
from gplvm_edu.starts import initial_positions
from gplvm_edu.tsne import TSNE, TSNEPriorGPLVM, printed_affinities, printed_cost_and_gradient

NAMES = {
    **{np.inf: "GP-LVM", 1e-1: "1e-1", 1e-2: "1e-2", 1e-3: "1e-3", 3e-4: "3e-4", 1e-4: "1e-4"},
    **{3e-5: "3e-5", 1e-5: "1e-5", 1e-6: "1e-6", 1e-7: "1e-7", 1e-12: "t-SNE"},
}
TEMPERATURES = tuple(NAMES)
CORRECTED, PRINTED = "corrected", "as printed"
TSNE_STEPS, STEPS = 150, 25  # of the start and of a climb: both together in about a twentieth of a second
IMAGE_SHAPE = {"digits": (8, 8), "oil flow": None}


class PrintedTSNEPriorGPLVM(TSNEPriorGPLVM):
    """The prior with p and q as section 4 of van der Maaten (2009) prints them: neighbours repel one another."""

    def iterates(self, Y):
        """The same climb; only the energy is wrong."""
        self._printed = printed_affinities(np.asarray(Y, dtype=float), self.perplexity)
        return super().iterates(Y)

    def energy(self, X):
        """The printed cost of the printed affinities."""
        return printed_cost_and_gradient(X, self._printed)


@lru_cache(maxsize=8)
def load(data, n_points):
    """Data at unit mean variance, target, names."""
    bunch = load_digits() if data == "digits" else simulate_oil_flow(n_points, random_state=0)
    return unit_variance(bunch.data[:n_points]), bunch.target[:n_points], bunch.target_names


@lru_cache(maxsize=32)
def start_positions(data, n_points, perplexity, start):
    """Where every climb of a setting begins: t-SNE's map, or PCA's at t-SNE's size."""
    Y = load(data, n_points)[0]
    if start == "t-SNE":
        return TSNE(perplexity=float(perplexity), max_iter=TSNE_STEPS).fit(Y).embedding_
    return 5.0 * initial_positions(Y, 2, "pca", None)


@lru_cache(maxsize=4 * len(TEMPERATURES))
def fitted(data, n_points, perplexity, start, width, energy, temperature):
    """The model at one place of the slider."""
    Y, X = load(data, n_points)[0], start_positions(data, n_points, perplexity, start)
    Model = TSNEPriorGPLVM if energy == CORRECTED else PrintedTSNEPriorGPLVM
    return Model(temperature=temperature, perplexity=float(perplexity), init=X, bandwidths=[width], max_iter=STEPS).fit(
        Y
    )
