"""How arrays travel: as bytes of 32-bit floats to a live page, as short text in a stored one."""

import base64

import numpy as np

GAP16, GAP8 = 65535, 255  # stand for NaN


def pack(value, stored=False):
    """A value as a page takes it; everything but numpy arrays and tuples stays what it is.

    `stored`: False gives bytes of 32-bit floats; True gives text with 16 bits a number (the range in 65,534 steps: far
    below a pixel); "exact" gives text with all 32 bits (a logarithmic axis wants them); a pair (low, high) gives 8 bits
    a number.
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return [pack(v) for v in value]
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "iub":
        kind = "u1" if np.all((value >= 0) & (value < 256)) else "i4"
        bits = np.ascontiguousarray(value, "<" + kind)
        return {kind: _text(bits) if stored else bits.tobytes()}
    if stored is False:
        return {"f4": np.ascontiguousarray(value, "<f4").tobytes()}
    if stored == "exact":
        return {"f4": _text(np.ascontiguousarray(value, "<f4"))}
    low, high = stored if isinstance(stored, tuple) else _range(value)
    gap, bits = (GAP8, "<u1") if isinstance(stored, tuple) else (GAP16, "<u2")
    step = (high - low) / (gap - 1) or 1.0
    whole = np.clip(np.round((value - low) / step), 0, gap - 1)
    codes = np.where(np.isfinite(value), whole, gap).astype(bits)
    return {"codes": _text(codes), "bits": 8 * codes.dtype.itemsize, "low": float(low), "step": float(step)}


def fixed_point(values):
    """{"i4": text, "step": number}: nine digits of the largest entry, for arrays that a page computes with."""
    values = np.asarray(values, float)
    step = float(np.abs(values).max() / (2**31 - 1)) if values.size else 1.0
    return {"i4": _text(np.round(values / (step or 1.0)).astype("<i4")), "step": step or 1.0}


def _range(value):
    finite = value[np.isfinite(value)]
    return (finite.min(), finite.max()) if finite.size else (0.0, 1.0)


def _text(array):
    return base64.b64encode(array.tobytes()).decode("ascii")
