// The page's half of latent_map.py: a fitted map, decoded wherever the reader points.
import { cholesky, covariance, covariances, dot, solveLower } from "./gp.js";
import { short } from "../scene/scene.js";

// ---------------------------------------------------------------- the map
export function mapOf(data) { // x -> {mean (D,), deviation (1,) or (D,), share of the prior's deviation}
  const between = data.grid && interpolation(data), meanAt = data.constant ? sums(data) : (x) => between(x).mean;
  const doubtAt = data.certain ? () => ({ deviation: [0], share: 0 }) : between ?? deviations(data);
  return (x) => ({ ...doubtAt(x), mean: meanAt(x) });
}
function deviations({ kernel, centres, noise, weight_covariance: C, largest }) {
  if (C) { // of a plane with uncertain weights: x'C x, (1.24)
    return ([a, b]) => {
      const deviation = Math.sqrt(Math.max(C[0] * a * a + (C[1] + C[2]) * a * b + C[3] * b * b, 0));
      return { deviation: [deviation], share: deviation / largest };
    };
  }
  const N = centres.length / 2, L = cholesky(covariances(kernel, centres, centres, 2), N, noise);
  return (x) => { // k(x, x) - k'K^-1 k, (5.8)
    const v = solveLower(L, covariances(kernel, x, centres, 2)), prior = covariance(kernel, x, x);
    const variance = Math.max(prior - dot(v, v), 0);
    return { deviation: [Math.sqrt(variance)], share: Math.sqrt(variance / Math.max(prior, 1e-300)) };
  };
}
function sums(data) { // m + B x + k(x, Z) A: (1.4), (5.7), (9.2), (13.2)
  const { constant, linear, kernel, centres, weights } = data, D = constant.length;
  return (x) => {
    const mean = constant.map((m, d) => m + linear[2 * d] * x[0] + linear[2 * d + 1] * x[1]);
    if (!kernel) return mean;
    covariances(kernel, x, centres, 2).forEach((k, n) => {
      for (let d = 0; d < D; d++) mean[d] += k * weights[n * D + d];
    });
    return mean;
  };
}
function interpolation({ grid, n_grid: G, grid_box, components, grid_means, n_deviations, n_values }) {
  const [left, right, bottom, top] = grid_box, R = components.length / n_values;
  const cubic = (t) => [ // weights of four neighbours (Catmull and Rom): exact for quadratics
    ((2 - t) * t - 1) * t / 2,
    ((3 * t - 5) * t * t + 2) / 2,
    ((4 - 3 * t) * t + 1) * t / 2,
    (t - 1) * t * t / 2,
  ];
  const along = (v, from, to) => {
    const place = (v - from) / (to - from) * (G - 1), k = Math.min(Math.max(Math.floor(place), 1), G - 3);
    return [k - 1, cubic(place - k)];
  };
  return (x) => {
    const [i, across] = along(x[0], left, right), [j, up] = along(x[1], bottom, top), c = new Float64Array(R);
    for (let b = 0; b < 4; b++) {
      for (let a = 0; a < 4; a++) {
        const at = ((j + b) * G + i + a) * R;
        for (let r = 0; r < R; r++) c[r] += up[b] * across[a] * grid[at + r];
      }
    }
    const values = grid_means.map((m, v) => c.reduce((s, share, r) => s + share * components[r * n_values + v], m));
    const D = n_values - n_deviations - 1, deviation = values.slice(D, D + n_deviations).map((v) => Math.max(v, 0));
    return { mean: values.slice(0, D), deviation, share: Math.min(Math.max(values[n_values - 1], 0), 1) };
  };
}

// ---------------------------------------------------------------- the figure
const howSure = (share) =>
  share < 0.25
    ? "Sure: data all around."
    : share < 0.7
    ? "A guess between the data."
    : "No data here: back to the mean.";
export default function make(data, opening) {
  const decode = mapOf(data), { points, box, names, target } = data, [left, right, bottom, top] = box;
  const [plane, decoded, doubt] = opening.panels;
  let x = Float64Array.from(data.start);
  const moveTo = (u, v) => x = Float64Array.of(Math.min(Math.max(u, left), right), Math.min(Math.max(v, bottom), top));
  function nearest() {
    let best = 0, least = Infinity;
    for (let n = 0; n < points.length / 2; n++) {
      const distance = Math.hypot((points[2 * n] - x[0]) / (right - left), (points[2 * n + 1] - x[1]) / (top - bottom));
      if (distance < least) [best, least] = [n, distance];
    }
    return best;
  }
  const changed = (panel, changes) => ({ ...panel, marks: panel.marks.map((m) => ({ ...m, ...changes[m.key] })) });
  function planeNow(near) {
    const ring = { x: [points[2 * near]], y: [points[2 * near + 1]] };
    const how = "Arrow keys move the cross, with Shift in longer steps.";
    return { ...changed(plane, { cross: { x: x[0], y: x[1] }, ring }), aspect: 1, how };
  }
  function decodedNow({ mean, deviation, share }) {
    if (data.image) {
      return { ...changed(decoded, { decoded: { values: mean, opacity: 1 - 0.7 * share } }), aspect: data.image };
    }
    const place = Array.from(mean, (_, d) => d + 1), gap = NaN;
    const reach = (d) => 2 * deviation[deviation.length > 1 ? d : 0];
    const at = place.flatMap((p) => [p, p, gap]);
    const bars = Array.from(mean).flatMap((m, d) => [m - reach(d), m + reach(d), gap]);
    const moved = data.sideways // columns one below the other, with their names
      ? { decoded: { x: mean }, deviations: { x: bars, y: at } }
      : { decoded: { y: mean }, deviations: { x: at, y: bars } };
    return { ...changed(decoded, moved), aspect: 1.3 };
  }
  const doubtNow = (share) => ({
    ...changed(doubt, { doubt: { x: [0, share] } }),
    title: `doubt: ${Math.round(100 * share)} % of ${data.whole}`,
    aspect: 0.09,
  });
  function says(now, near) {
    const spread = now.deviation.length > 1
      ? Math.sqrt(dot(now.deviation, now.deviation) / now.deviation.length)
      : now.deviation[0];
    const sure = data.certain
      ? data.certain
      : `${howSure(now.share)} Deviation ${short(spread, 2)}, ${Math.round(100 * now.share)} % of ${data.whole}.`;
    return sure + (names ? ` Nearest point: ${names[target[near]]}.` : "");
  }
  return {
    point: (_, u, v, phase) => phase !== "up" && moveTo(u, v),
    arrow: (_, across, up) => moveTo(x[0] + across * (right - left) / 100, x[1] + up * (top - bottom) / 100),
    scene(width) {
      const now = decode(x), near = nearest(), third = doubt && doubtNow(now.share);
      const told = { says: says(now, near), least: 1 };
      const [first, second] = [planeNow(near), decodedNow(now)];
      let panels = [{ ...first, rows: 9 }, { ...second, rows: 1 }, third && { ...third, rows: 8 }];
      if (width < 520) { // on a telephone the decoded point stands above the plane, where no finger hides it
        const flat = data.sideways ? Math.max(0.4, 14 * now.mean.length / Math.max(width, 1)) : 0.4;
        const small = data.image ? { ...second, span: 2 } : { ...second, span: 5, aspect: flat };
        panels = [small, third && { ...third, span: 3 }, { ...first, span: 5 }].map((p) => p && { ...p, rows: 1 });
      }
      return { panels: panels.filter(Boolean), ...told };
    },
  };
}
