"""Sums and products of kernels, with their gradients (chapter 2)."""

from functools import cached_property, reduce
from typing import Self

import numpy as np

from .. import checks
from .kernel import Kernel, finite, quiet

ENTRIES, SLOPES = "Entries of a product of kernels", "Derivatives of a product of kernels"


class Combination(Kernel):
    """A sum or a product: its parts are copies, named by their kinds (``k["white"].variance``)."""

    parts: tuple[Kernel, ...]

    def __init__(self, *parts):
        wrong = [part for part in parts if not isinstance(part, Kernel)]
        if wrong or not parts:
            raise ValueError(
                f"{type(self).__name__} combines kernels, got {checks.shown(wrong[0])}."
                if wrong
                else f"{type(self).__name__} needs at least one kernel."
            )
        flat = [inner for part in parts for inner in (part.parts if type(part) is type(self) else [part])]
        self.parts = tuple(part.copy() for part in flat)
        self.relative = any(part.relative for part in parts)  # one of shares makes all of them shares
        for part in self.parts:
            part.relative = False

    def copy(self) -> Self:
        """An independent combination of copies of the parts."""
        new = type(self)(*self.parts)
        new.relative = self.relative
        return new

    def __getstate__(self):
        return {"parts": self.parts, "relative": self.relative}  # without what is remembered, which changes a hash

    @cached_property
    def part_names(self) -> list[str]:
        """rbf, white, ...; a kind that occurs twice is numbered: rbf, rbf2."""
        kinds = [type(part).__name__.lower() for part in self.parts]
        seen = [kinds[: i + 1].count(kind) for i, kind in enumerate(kinds)]
        return [kind if n == 1 else f"{kind}{n}" for kind, n in zip(kinds, seen, strict=True)]

    @cached_property
    def _slots(self):
        """As scikit-learn writes nested parameters: ('part__parameter', leaf, parameter)."""
        return [
            (f"{part_name}__{name}", owner, attribute)
            for part_name, part in zip(self.part_names, self.parts, strict=True)
            for name, owner, attribute in part._slots
        ]

    @cached_property
    def _sized(self):
        return [slot for slot in self._slots if slot[2] in slot[1]._each]

    def __getitem__(self, name):
        """A part by its name or its index."""
        return self.parts[self.part_names.index(name) if name in self.part_names else name]

    def __eq__(self, other):
        return type(self) is type(other) and self.parts == other.parts and self.relative == other.relative

    __hash__ = None  # type: ignore[assignment]  # it can be changed, so it has no hash

    def _text(self):
        return self._join(repr)

    def _formula(self):
        return self._join(lambda part: part._formula())


class Sum(Combination):
    """k1 + k2 + ...: the covariance of a sum of independent functions, equation (2.27)."""

    def _join(self, show):
        return " + ".join(map(show, self.parts))

    def _leaves_to_scale(self):
        return [leaf for part in self.parts for leaf in part._leaves_to_scale()]

    def _matrix(self, X, Z):
        K = self.parts[0]._matrix(X, Z)
        for part in self.parts[1:]:
            part._add_to(K, X, Z)
        return K

    def _diag(self, X, noise):
        return sum(part._diag(X, noise) for part in self.parts)  # (2.27)

    def _gradients(self, G, X, Z):
        return _collect(part._gradients(G, X, Z) for part in self.parts)

    def _input_derivatives(self, X, Z):
        return sum(part._input_derivatives(X, Z) for part in self.parts)  # (2.27)

    def _diag_gradients(self, g, X, noise):
        return _collect(part._diag_gradients(g, X, noise) for part in self.parts)

    def _mixed_derivative(self, X):
        return sum(part._mixed_derivative(X) for part in self.parts)  # (2.27)


class Product(Combination):
    """k1 * k2 * ...: the covariance of a product of independent functions, equation (2.28).

    The sizes of the factors multiply: what becomes larger than the floating-point numbers is refused with a
    NotFiniteError, what becomes smaller is 0.
    """

    def _join(self, show):
        return " * ".join(f"({show(part)})" if isinstance(part, Sum) else show(part) for part in self.parts)

    def _leaves_to_scale(self):
        return self.parts[0]._leaves_to_scale()

    def _matrix(self, X, Z):
        with quiet():
            return finite(ENTRIES, reduce(np.multiply, [part._matrix(X, Z) for part in self.parts]))  # (2.28)

    def _diag(self, X, noise):
        with quiet():
            return finite(ENTRIES, reduce(np.multiply, [part._diag(X, noise) for part in self.parts]))

    def _gradients(self, G, X, Z):
        Ks = [part._matrix(X, Z) for part in self.parts]
        return _collect(
            part._gradients(reduce(np.multiply, [G, *Ks[:i], *Ks[i + 1 :]]), X, Z)  # (2.39)
            for i, part in enumerate(self.parts)
        )

    def _input_derivatives(self, X, Z):
        with quiet():
            Ks = [part._matrix(X, Z)[:, :, None] for part in self.parts]
            slopes = sum(
                reduce(np.multiply, [part._input_derivatives(X, Z), *Ks[:i], *Ks[i + 1 :]])  # (2.39)
                for i, part in enumerate(self.parts)
            )
            return finite(SLOPES, slopes)

    def _diag_gradients(self, g, X, noise):
        with quiet():
            ks = [part._diag(X, noise) for part in self.parts]
            collected = _collect(
                part._diag_gradients(reduce(np.multiply, [g, *ks[:i], *ks[i + 1 :]]), X, noise)
                for i, part in enumerate(self.parts)
            )
            return finite(SLOPES, *collected)

    def _mixed_derivative(self, X):
        with quiet():
            factors = [
                (
                    part._diag(X, False),
                    0.5 * part._diag_gradients(np.ones(len(X)), X, False)[0],
                    part._mixed_derivative(X),
                )
                for part in self.parts
            ]
            return finite(SLOPES, reduce(_product_rule, factors)[2])


Kernel._sum, Kernel._product = Sum, Product


def _product_rule(one, other):
    """k (N,), dk/dx (N, q) and d2k/dx dz' (N, q, q), all at z = x, of a product from those of two factors."""
    (k, slope, mixed), (k_, slope_, mixed_) = one, other
    cross = slope[:, :, None] * slope_[:, None, :]
    mixed = k_[:, None, None] * mixed + k[:, None, None] * mixed_ + cross + cross.transpose(0, 2, 1)  # (2.43)
    return k * k_, k_[:, None] * slope + k[:, None] * slope_, mixed


def _collect(gradients):
    """Sum of the parts' gradients in the inputs; their gradients in the parameters one after another."""
    *in_inputs, in_parameters = zip(*gradients, strict=True)
    return *map(sum, in_inputs), np.concatenate(in_parameters)
