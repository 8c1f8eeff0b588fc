"""`em_lengths`: EM for probabilistic kernel PCA on two axes, step by step, beside the predicted number of steps.

The page computes with `em_lengths.js`; here the same numbers come from `gplvm_edu.wishart`, for the opening and for the
tests.
"""

import numpy as np

from gplvm_edu import checks
from gplvm_edu.wishart import em_step, maximum_likelihood

from ..scene import Axis, Ellipses, Lines, Panel, Points, Rules, Scene
from .figure import LivingFigure, living, modules

STARTS = (0.1, 100.0)  # times the end
ACCURACIES = (0.1, 0.01, 0.001)
DRAWN = 300  # points of a curve
FLOOR = 1e-12  # of an error that is drawn: below every picture
MANY = 10**6  # steps, and no further
TEXT = (
    "Drag along the EM steps to let EM run, and set where it starts and how much noise there is (the noise is held "
    "at its final value). Question: from which start does EM need more steps, ten times too long or ten times "
    "too short? In Python: wishart.em_step."
)


def em_lengths(
    eigenvalues=(0.2801, 0.1362),
    noise_variance=0.00202,
    start=3.0,
    accuracy=0.01,
    step=50,
    title="How long EM takes for its lengths",
    name="em-lengths",
) -> LivingFigure:
    """The lengths of two latent axes under EM, from any start, with the steps it takes and the steps it should take.

    Parameters
    ----------
    eigenvalues : two floats
        The two largest eigenvalues of S = HAH / N, larger first. As given: iris with the kernel of the paper.
    noise_variance : float
        sigma^2 to begin with, from lambda_1 / 500 to lambda_2 / 5. EM's own noise is held at this value.
    start : float
        Both lengths to begin with, as a multiple of their ends, from 0.1 to 100.
    accuracy : 0.1, 0.01 or 0.001
        How near to its end a length shall come, as a share of it.
    step : int
        How many steps EM has made to begin with.
    title : str
    name : str
        Letters, digits and dashes: the element's id is "gplvm-living-" and this.

    Returns
    -------
    LivingFigure

    Notes
    -----
    Chapter 4, equation (4.32) for one axis: l+ = lambda l / (sigma^2 + lambda l^2 / (l^2 + sigma^2)), which ends at
    l^2 = lambda - sigma^2. For a small noise the square of the length moves by 2 sigma^2 / lambda of what it lacks in
    each step. From a times its end it is within a share epsilon after lambda / (2 sigma^2) ln(|a^2 - 1| / (2 epsilon))
    steps, from above and from below.

    Examples
    --------
    >>> print(em_lengths().scene.says)
    50 steps: lengths 2.21 and 1.68 times their ends. Within 1 % after 416 and 203 steps; the rule says 415 and 202.
    """
    lam = check_eigenvalues(eigenvalues)
    low, high = lam[0] / 500, lam[1] / 5
    advice = f"The figure shows noise from lambda_1 / 500 = {low:.3g} to lambda_2 / 5 = {high:.3g}."
    s2 = checks.number("noise_variance", noise_variance, at_least=low, at_most=high, advice=advice)
    a = checks.number("start", start, at_least=STARTS[0], at_most=STARTS[1])
    if accuracy not in ACCURACIES:
        raise ValueError(f"accuracy must be one of {', '.join(map(str, ACCURACIES))}, got {checks.shown(accuracy)}.")
    last = em_numbers(lam, s2, a, accuracy)[2]
    t = checks.whole_number("step", step, at_least=0, at_most=last, advice="The axis of the figure ends there.")
    stored = {
        "opening": {"noise": s2, "start": a, "accuracy": accuracy, "t": t},
        "eigenvalues": lam.tolist(),
        "noises": [low, high],
        "starts": list(STARTS),
        "accuracies": list(ACCURACIES),
        "drawn": DRAWN,
        "floor": FLOOR,
    }
    return living(
        lengths_scene(lam, s2, a, accuracy, t), modules("marks.js", "em_lengths.js"), stored, name, title, TEXT
    )


def check_eigenvalues(eigenvalues):
    """Two eigenvalues, the larger first, between which and the noise there is room."""
    lam = checks.floats("eigenvalues", eigenvalues)
    if lam.shape != (2,):
        raise ValueError(f"eigenvalues must be two numbers, lambda_1 and lambda_2, got the shape {lam.shape}.")
    if not (np.all(np.isfinite(lam)) and lam[0] >= lam[1] >= lam[0] / 20 > 0):
        raise ValueError(
            f"eigenvalues must be positive, the larger first and at most 20 times the other, got {lam.tolist()}."
        )
    return lam


def ends_of(lam, s2):
    """The two lengths of the closed form, (2,)."""
    return np.linalg.norm(maximum_likelihood(np.diag(lam), 2, noise_variance=s2)[0], axis=0)


def lengths_of(lam, s2, a, last):
    """Both lengths after 0, 1, ... `last` steps, (2, last + 1), by `em_step` with the noise held."""
    S, X, lengths = np.diag(lam), a * np.diag(ends_of(lam, s2)), []
    for _ in range(last + 1):
        lengths.append(np.diag(X))
        X, _ = em_step(S, X, s2)
    return np.transpose(lengths)


def predicted_steps(eigenvalue, noise_variance, start, accuracy):
    """The rule: after how many steps EM is this near to a length, from `start` times it; 0 where it is near already."""
    lam, s2, a = eigenvalue, noise_variance, start
    ratio = np.abs(np.square(a) - 1) / (2 * accuracy)
    return np.maximum(np.asarray(lam) / (2 * s2) * np.log(np.maximum(ratio, 1e-300)), 0.0)


def counts_of(lam, s2, a, accuracy):
    """The first step at which each length is within the accuracy, (2,) whole numbers."""
    last = 64
    while last < MANY:
        near = np.abs(lengths_of(lam, s2, a, last) / ends_of(lam, s2)[:, None] - 1) <= accuracy
        if near.any(axis=1).all():
            break
        last *= 4
    return np.argmax(near, axis=1)


def round_up(value):
    """A limit that changes seldom."""
    unit = 10 ** np.floor(np.log10(value) + 1e-12)
    return round(unit * next(m for m in (1, 1.5, 2, 3, 5, 7, 10) if m * unit >= value * (1 - 1e-12)))


def em_numbers(lam, s2, a, accuracy):
    """All that is drawn: counts, the rule's counts, the last step, ends, lengths, errors of the squares, limits."""
    counts, rules = counts_of(lam, s2, a, accuracy), predicted_steps(lam, s2, a, accuracy)
    last, ends = round_up(1.12 * max(*counts, *rules, 10)), ends_of(lam, s2)
    lengths = lengths_of(lam, s2, a, last)
    errors = np.maximum(np.abs((lengths / ends[:, None]) ** 2 - 1), FLOOR)
    top = max(abs(a * a - 1), 2 * accuracy)
    return counts, rules, last, ends, lengths, errors, (accuracy, float(10 ** np.ceil(np.log10(1.2 * top) - 1e-12)))


def lengths_scene(lam, s2, a, accuracy, t=0):
    """The picture of one state."""
    counts, rules, last, ends, lengths, errors, limits = em_numbers(lam, s2, a, accuracy)
    l1, l2 = lengths[:, t]
    side = 1.25 * max(l1, ends[0])
    plane = Panel(
        [
            Ellipses("end", [0.0], [0.0], np.diag(ends)[None], colour="pale", filled=True, label="closed form"),
            Ellipses("now", [0.0], [0.0], np.diag([l1, l2])[None], colour="accent", width=2.2, label="EM"),
            Lines("length 1", [0, l1], [0, 0], colour=0, width=2.6),
            Lines("length 2", [0, 0], [0, l2], colour=2, width=2.6),
        ],
        title=f"the two lengths after {t} steps",
        x=Axis("latent axis 1", (-side, side)),
        y=Axis("latent axis 2", (-side, side)),
        equal=True,
        key="lengths",
    )
    every = max(1, last // DRAWN)
    kept = np.arange(last // every + 1) * every
    top, near = abs(a * a - 1), f"l within {100 * accuracy:g} %"
    marks = [Rules("near", y=(2 * accuracy,), label=near), Rules("now", x=(float(t),), colour="accent", width=1.6)]
    axes = ((0, 0, "rule", "EM is there"), (1, 2, "", ""))  # place, colour, words for the legend
    for k, colour, *_ in axes:
        line = dict(colour=colour, width=2.6, opacity=0.8, label=f"length {k + 1}")
        marks.append(Lines(f"axis {k + 1}", kept, errors[k, kept], **line))
    for k, colour, rule, there in axes:
        predicted = [top, top * np.exp(-2 * s2 / lam[k] * last)]
        marks += [
            Lines(f"rule {k + 1}", [0, last], predicted, colour="ink", width=1.3, dash=True, label=rule),
            Rules(f"predicted {k + 1}", x=(float(rules[k]),), colour=colour, dash=True),
            Points(
                f"count {k + 1}", counts[[k]], errors[k, counts[[k]]], colour=colour, hollow=True, size=13, label=there
            ),
            Points(f"point {k + 1}", [t], [max(errors[k, t], limits[0])], colour="accent", size=9),
        ]
    curve = Panel(
        marks,
        title="distance of l² from its end",
        x=Axis("EM steps", (0, last)),
        y=Axis("|l² / its end \N{MINUS SIGN} 1|", limits, log=True),
        key="steps",
        listens="drag",
        span=2,
    )
    says = sentence(t, accuracy, counts, rules, lengths[:, t] / ends)
    return Scene([plane, curve], columns=3, row_height=340, says=says)


def sentence(t, accuracy, counts, rules, ratios):
    """Where EM is, and when it is near enough, in words."""
    one, two = (f"{v:.2f}" if v < 10 else f"{v:.0f}" for v in ratios)
    a, b = (int(v + 0.5) for v in rules)
    near = f"Within {100 * accuracy:g} % after {counts[0]} and {counts[1]} steps; the rule says {a} and {b}"
    return f"{t} steps: lengths {one} and {two} times their ends. {near}."
