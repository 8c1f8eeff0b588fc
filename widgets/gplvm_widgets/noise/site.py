"""One observation: prior, likelihood, the exact tilted density, the Gaussian matched to it, and the site."""

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import norm

from gplvm_edu.noise import Gaussian, Ordinal, Probit, match_moments, sites
from gplvm_edu.plotting import ACCENT, PALETTE, QUIET, in_style, new_figure

CUTS = (-1.5, 0.0, 1.5)
MARGINS = dict(left=0.065, right=0.985, bottom=0.15, top=0.86, wspace=0.2)
MEANS = np.linspace(-6, 6, 121)


class Site(NamedTuple):
    """The numbers of one observation."""

    log_Z: float
    mean: float
    variance: float
    site_mean: float
    precision: float


def model_of(noise, y=1.0, label=1, level=2, noise_variance=0.5):
    """The noise model of the menu, and the observation that its own control has."""
    if noise == "Gaussian":
        return Gaussian(noise_variance, mean=0.0), float(y)
    if noise == "Probit":
        return Probit(bias=0.0), float(label)
    return Ordinal(cuts=CUTS), float(level)


def site_of(model, y, mean, variance):
    """The matched moments and the site of one observation."""
    terms = model.evaluate(y, mean, variance)
    moments, (m, beta) = match_moments(terms.g, terms.nu, mean, variance), sites(terms.g, terms.nu, mean, variance)
    return Site(float(terms.log_partition), *map(float, moments), float(m), float(beta))


@in_style
def panel_site(noise="Probit", mean=0.0, variance=1.0, y=1.0, label=1, level=2, noise_variance=0.5) -> Figure:
    """Left, the densities of f; right, what the same observation would do at every other prior mean.

    Parameters
    ----------
    noise : "Gaussian", "Probit" or "Ordinal" (four levels, cut at -1.5, 0 and 1.5)
    mean, variance : float
        Of f before the observation.
    y, label, level : float, int and int
        The observation; each belongs to one of the three.
    noise_variance : float
        Of the Gaussian.

    Returns
    -------
    matplotlib Figure
    """
    model, seen = model_of(noise, y, label, level, noise_variance)
    now = site_of(model, seen, mean, variance)
    figure, axes = new_figure(1, 2, size=(9.6, 3.9), margins=MARGINS, width_ratios=[1.55, 1])
    draw_densities(axes[0], model, seen, mean, variance, now)
    draw_effects(axes[1], model, seen, mean, variance, now)
    return figure


def draw_densities(axes, model, seen, mean, variance, now):
    """Prior, tilted density and match as densities; likelihood and site drawn to the height of the prior."""
    f = np.linspace(-8, 8, 401)
    prior = norm.pdf(f, mean, np.sqrt(variance))
    likelihood = np.exp(model.log_partition(np.full(f.size, seen), f, 0.0))
    tilted = likelihood * prior / np.exp(now.log_Z)
    top = max(prior.max(), tilted.max())
    axes.fill_between(f, tilted, color=PALETTE[5], alpha=0.45, linewidth=0, label="exact: prior times likelihood")
    axes.plot(f, norm.pdf(f, now.mean, np.sqrt(now.variance)), "--", color=PALETTE[0], label="its Gaussian match")
    axes.plot(f, prior, color=QUIET, label="prior")
    site = np.exp(-0.5 * now.precision * (f - now.site_mean) ** 2)
    for curve, colour, name in ((likelihood / likelihood.max(), PALETTE[2], "likelihood"), (site, ACCENT, "site")):
        axes.plot(f, 0.9 * top * curve, color=colour, linewidth=1.3, label=f"{name} (scaled)")
    axes.set(
        xlim=(-8, 8),
        ylim=(0, 1.55 * top),
        xlabel="latent value f (drag: prior mean)",
        yticks=[],
        title=f"after: mean {now.mean:.2f}, variance {now.variance:.2f}",
    )
    axes.legend(fontsize="small", ncols=2, loc="upper left", handlelength=1.6, columnspacing=1.2)
    axes.set_gid("mean")


def draw_effects(axes, model, seen, mean, variance, now):
    """Share of the prior's variance that is left, and the site's precision, for all prior means."""
    g, nu = model.derivatives(np.full(MEANS.size, seen), MEANS, variance)
    beta = sites(g, nu, MEANS, variance)[1]
    axes.plot(MEANS, 1.0 - nu * variance, color=PALETTE[0], label="variance left / prior variance")
    axes.plot(MEANS, beta, color=ACCENT, label="precision of the site")
    axes.plot([mean], [now.variance / variance], "o", color=PALETTE[0])
    axes.plot([mean], [now.precision], "o", color=ACCENT)
    axes.set(
        xlim=(-6, 6),
        ylim=(0, max(1.3, 1.25 * beta.max())),
        xlabel="prior mean (drag)",
        title=f"site: m = {now.site_mean:.2f}, precision {now.precision:.3f}",
    )
    axes.legend(fontsize="small", loc="upper center", ncols=1)
    axes.set_gid("mean")
