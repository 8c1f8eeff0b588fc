// Where in a map may a row of data lie? Its log density (5.10) over the plane, and the places where that is greatest.
import { clamp } from "./marks.js";

const LN2PI = Math.log(2 * Math.PI);
export function logDensity(y, x, { mean, deviation }, { noise, prior }) { // ln p(y | x) (+ ln p(x)); NaN is a gap
  const of = (values, d) => values[values.length > 1 ? d : 0], alike = deviation.length === 1 && noise.length === 1;
  let total = prior ? -0.5 * (x[0] ** 2 + x[1] ** 2) - LN2PI : 0, s = 0, ln = 0;
  for (let d = 0; d < mean.length; d++) {
    if (y[d] !== y[d]) continue;
    if (!alike || !s) [s, ln] = [of(deviation, d) ** 2 + of(noise, d), 0];
    ln ||= LN2PI + Math.log(s);
    total -= 0.5 * (ln + (y[d] - mean[d]) ** 2 / s);
  }
  return total;
}
export function tops(values, side) { // places of a grid above all their neighbours, the highest first
  const around = [-1, 0, 1], found = [];
  for (let i = 0; i < side; i++) {
    for (let j = 0; j < side; j++) {
      const here = values[i * side + j], inside = (k) => k >= 0 && k < side;
      const above = (a, b) => !inside(i + a) || !inside(j + b) || values[(i + a) * side + j + b] < here;
      if (around.every((a) => around.every((b) => (!a && !b) || above(a, b)))) found.push(i * side + j);
    }
  }
  return found.sort((a, b) => values[b] - values[a]);
}
export function climb(f, start, step, [left, right, bottom, top]) { // Newton's steps, by differences, only uphill
  let x = start, value = f(x);
  const h = 1e-3 * step, at = (a, b) => f([x[0] + a * h, x[1] + b * h]);
  for (let turn = 0; turn < 20; turn++) {
    const [r, l, u, d, c] = [at(1, 0), at(-1, 0), at(0, 1), at(0, -1), at(1, 1)];
    const [a, b] = [(r - l) / (2 * h), (u - d) / (2 * h)]; // gradient, and second derivatives
    const [aa, bb, ab] = [(r - 2 * value + l) / h ** 2, (u - 2 * value + d) / h ** 2, (c - r - u + value) / h ** 2];
    const volume = aa * bb - ab * ab, bent = aa < 0 && volume > 0;
    let p = bent ? [(ab * b - bb * a) / volume, (ab * a - aa * b) / volume] : [a, b];
    const size = Math.hypot(...p), most = bent ? Math.min(step / size, 1) : step / size;
    if (!(size > 1e-5 * step)) break;
    p = p.map((v) => v * most);
    let better = false;
    for (let k = 0; k < 8 && !better; k++, p = p.map((v) => v / 2)) {
      const next = [clamp(x[0] + p[0], left, right), clamp(x[1] + p[1], bottom, top)], there = f(next);
      if (there > value) [x, value, better] = [next, there, true];
    }
    if (!better) break;
  }
  return { x, value };
}
export function finderOf({ finder, box }, decode) { // density(row) over the grid, and places(row, starts)
  const { side } = finder, [left, right, bottom, top] = box, step = Math.max(right - left, top - bottom) / (side - 1);
  const place = (
    k,
  ) => [left + (k % side) * (right - left) / (side - 1), bottom + Math.floor(k / side) * (top - bottom) / (side - 1)];
  let table = null; // the map at all places of the grid: when the first row comes
  const at = (x) => decode(Float64Array.from(x));
  function density(row) {
    table ??= Array.from({ length: side * side }, (_, k) => ({ x: place(k), ...at(place(k)) }));
    return Float64Array.from(table, (known) => logDensity(row, known.x, known, finder));
  }
  const here = (row, x) => logDensity(row, x, at(x), finder);
  function places(row, values, starts) { // best first, with weights: shares of the density of all places found
    const found = [];
    for (const k of tops(values, side).slice(0, starts)) {
      const next = climb((x) => here(row, x), place(k), step, box);
      if (found.every(({ x }) => Math.hypot(x[0] - next.x[0], x[1] - next.x[1]) > 0.3 * step)) found.push(next);
    }
    found.sort((a, b) => b.value - a.value);
    const inside = ({ x }) => x[0] > left && x[0] < right && x[1] > bottom && x[1] < top;
    found.splice(0, found.length, ...found.filter((one, k) => !k || inside(one))); // the border is no place of its own
    const shares = found.map(({ value }) => Math.exp(value - found[0].value)), sum = shares.reduce((s, v) => s + v, 0);
    return found.map((one, k) => ({ ...one, weight: shares[k] / sum }));
  }
  return { density, places, here };
}

// ---------------------------------------------------------------- ink
export function stroke(row, [rows, columns], [low, high], from, to, erasing) { // a line one pixel and a half wide
  const drawn = Float64Array.from(row), length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  const n = Math.ceil(4 * length) || 1;
  for (let k = 0; k <= n; k++) {
    const u = from[0] + k / n * (to[0] - from[0]), v = from[1] + k / n * (to[1] - from[1]);
    for (let i = Math.max(0, Math.floor(v) - 1); i <= Math.min(rows - 1, Math.ceil(v) + 1); i++) {
      for (let j = Math.max(0, Math.floor(u) - 1); j <= Math.min(columns - 1, Math.ceil(u) + 1); j++) {
        const wet = clamp(1.3 - Math.hypot(u - j, v - i), 0, 1), at = i * columns + j;
        const ink = low + (erasing ? 1 - wet : wet) * (high - low);
        drawn[at] = erasing ? Math.min(drawn[at], ink) : Math.max(drawn[at], ink);
      }
    }
  }
  return drawn;
}
export function hidden(row, [rows, columns]) { // without its lower half
  return Float64Array.from(row, (v, k) => Math.floor(k / columns) < rows / 2 ? v : NaN);
}
export const percent = (weight) => weight < 0.0005 ? "<0.1 %" : `${(100 * weight).toFixed(weight < 0.0995 ? 1 : 0)} %`;
