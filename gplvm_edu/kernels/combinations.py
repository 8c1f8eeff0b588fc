"""Sums and products of kernels: new covariances from old ones, gradients included (chapter 2)."""
from functools import reduce

import numpy as np

from .kernel import Kernel


class Combination(Kernel):
    """A sum or a product: its parts are copies, named by their kinds (``k["white"].variance``)."""

    def __init__(self, *parts):
        wrong = [part for part in parts if not isinstance(part, Kernel)]
        if wrong or not parts:
            raise ValueError(f"{type(self).__name__} combines kernels, got {wrong[0]!r}." if wrong else
                             f"{type(self).__name__} needs at least one kernel.")
        flat = [inner for part in parts for inner in (part.parts if type(part) is type(self) else [part])]
        self.parts = [part.copy() for part in flat]

    def copy(self):
        """An independent combination of copies of the parts."""
        return type(self)(*self.parts)

    @property
    def part_names(self):
        """rbf, white, ...; a kind that occurs twice is numbered: rbf, rbf2."""
        kinds = [type(part).__name__.lower() for part in self.parts]
        seen = [kinds[:i + 1].count(kind) for i, kind in enumerate(kinds)]
        return [kind if n == 1 else f"{kind}{n}" for kind, n in zip(kinds, seen, strict=True)]

    def __getitem__(self, name):
        """A part by its name or its place."""
        return self.parts[self.part_names.index(name) if name in self.part_names else name]

    def get_params(self, deep=True):
        """{'part__parameter': value}, as scikit-learn writes nested parameters."""
        return {f"{part_name}__{name}": value for part_name, part in zip(self.part_names, self.parts, strict=True)
                for name, value in part.get_params().items()}

    def _owner(self, name):
        part_name, inner = name.split("__", 1)
        return self[part_name]._owner(inner)

    def __eq__(self, other):
        return type(self) is type(other) and self.parts == other.parts

    __hash__ = None

    def __repr__(self):
        return self._join(repr)

    def _formula(self):
        return self._join(lambda part: part._formula())


class Sum(Combination):
    """k1 + k2 + ...: the covariance of a sum of independent functions, equation (2.12)."""

    def _join(self, show):
        return " + ".join(map(show, self.parts))

    def _scale(self, factor):
        for part in self.parts:
            part._scale(factor)

    def _matrix(self, X, Z):
        K = self.parts[0]._matrix(X, Z)
        for part in self.parts[1:]:
            K += part._matrix(X, Z)                                              # (2.12)
        return K

    def _diag(self, X, noise):
        return sum(part._diag(X, noise) for part in self.parts)                  # (2.12)

    def _gradients(self, G, X, Z):
        return _collect(part._gradients(G, X, Z) for part in self.parts)

    def _diag_gradients(self, g, X, noise):
        return _collect(part._diag_gradients(g, X, noise) for part in self.parts)


class Product(Combination):
    """k1 * k2 * ...: the covariance of a product of independent functions, equation (2.13)."""

    def _join(self, show):
        return " * ".join(f"({show(part)})" if isinstance(part, Sum) else show(part) for part in self.parts)

    def _scale(self, factor):
        self.parts[0]._scale(factor)

    def _matrix(self, X, Z):
        return reduce(np.multiply, [part._matrix(X, Z) for part in self.parts])  # (2.13)

    def _diag(self, X, noise):
        return reduce(np.multiply, [part._diag(X, noise) for part in self.parts])

    def _gradients(self, G, X, Z):
        Ks = [part._matrix(X, Z) for part in self.parts]
        return _collect(part._gradients(reduce(np.multiply, [G, *Ks[:i], *Ks[i + 1:]]), X, Z)     # (2.22)
                        for i, part in enumerate(self.parts))

    def _diag_gradients(self, g, X, noise):
        ks = [part._diag(X, noise) for part in self.parts]
        return _collect(part._diag_gradients(reduce(np.multiply, [g, *ks[:i], *ks[i + 1:]]), X, noise)
                        for i, part in enumerate(self.parts))


def _collect(gradients):
    """Add what the parts say about the inputs; put what they say about their parameters side by side."""
    *in_inputs, in_parameters = zip(*gradients, strict=True)
    return *map(sum, in_inputs), np.concatenate(in_parameters)
