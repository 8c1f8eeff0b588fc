// The page's half of next_active_point.py: one active point after another, by hand, by greed, and by trying all sets.
import { minus } from "./ellipse.js";
import { covariances } from "./gp.js";
import { changed } from "./marks.js";

const RIVAL_NAMES = ["you", "greedy", "best", "random"];
export const offerOf = (variance, noise) => 0.5 * Math.log1p(variance / noise); // (7.5) for one output
export function include({ mean, variance, M }, n, column, y, noise) { // (7.6) to (7.9) for one output
  const s = Array.from(column, (k, m) => M.reduce((rest, row) => rest - row[n] * row[m], k)); // (7.6)
  const nu = 1 / (variance[n] + noise), g = nu * (y - mean[n]);
  return {
    mean: mean.map((f, m) => f + g * s[m]), // (7.8)
    variance: variance.map((v, m) => Math.max(v - nu * s[m] * s[m], 0)), // (7.7)
    M: [...M, s.map((v) => Math.sqrt(nu) * v)], // (7.9)
  };
}
const prior = (N) => ({ mean: Array(N).fill(0), variance: Array(N).fill(1), M: [] });
export function bestOffer(offers, x) { // among equals the one nearest to the middle; -1 where nothing is offered
  const most = Math.max(...offers), middle = x.reduce((s, v) => s + v, 0) / x.length;
  if (most === -Infinity) return -1;
  const equal = offers.map((_, n) => n).filter((n) => offers[n] >= most - 1e-9 * Math.abs(most));
  return equal.reduce((a, b) => Math.abs(x[b] - middle) < Math.abs(x[a] - middle) ? b : a);
}
const kernelOfWidth = (gamma) => ({ kind: "rbf", variance: 1, inverse_width: [gamma] });
export function choice({ inverse_width, noise, taken }, { x, y, grid }) { // what `choice_numbers` computes
  const N = x.length, all = Float64Array.from([...x, ...grid]), you = [0];
  let now = prior(all.length);
  for (const n of taken) {
    you.push(you.at(-1) + offerOf(now.variance[n], noise));
    const column = covariances(kernelOfWidth(inverse_width), all, x.slice(n, n + 1));
    now = include(now, n, column, y[n], noise);
  }
  const offers = now.variance.slice(0, N).map((v, n) => taken.includes(n) ? -Infinity : offerOf(v, noise));
  const beyond = now.variance.slice(N);
  return {
    mean: now.mean.slice(N),
    deviation: beyond.map(Math.sqrt),
    curve: beyond.map((v) => offerOf(v, noise)),
    offers: offers.map((v) => v === -Infinity ? NaN : v),
    star: bestOffer(offers, Array.from(x)),
    you,
  };
}
export function totals({ inverse_width, noise }, { x, most }) { // what `totals_of` computes: greedy, and every set
  const N = x.length, K = covariances(kernelOfWidth(inverse_width), x, x), column = (n) => K.subarray(n * N, n * N + N);
  const zeros = () => new Float64Array(most + 1), [greedy, best, sum, count] = [0, 1, 2, 3].map(zeros);
  const sets = Array.from({ length: most + 1 }, () => []), order = [];
  for (let k = 0, now = prior(N); k < most; k++) {
    const offers = now.variance.map((v, n) => order.includes(n) ? -Infinity : offerOf(v, noise));
    const n = bestOffer(offers, Array.from(x));
    greedy[k + 1] = greedy[k] + offers[n];
    now = include(now, n, column(n), 0, noise);
    order.push(n);
  }
  const rows = [], held = [], variances = [new Float64Array(N).fill(1)]; // rows of M and variances of each size
  for (let k = 0; k < most; k++) (rows.push(new Float64Array(N)), variances.push(new Float64Array(N)));
  function grow(k, first, value) { // all sets that go on from these k points with points behind them
    for (let n = first; n < N; n++) {
      const total = value + offerOf(variances[k][n], noise);
      held[k] = n;
      count[k + 1]++;
      sum[k + 1] += total;
      if (total > best[k + 1]) [best[k + 1], sets[k + 1]] = [total, held.slice(0, k + 1)];
      if (k + 1 === most) continue;
      const root = 1 / Math.sqrt(variances[k][n] + noise);
      for (let m = n + 1; m < N; m++) {
        let s = K[n * N + m];
        for (let j = 0; j < k; j++) s -= rows[j][n] * rows[j][m];
        rows[k][m] = root * s;
        variances[k + 1][m] = variances[k][m] - rows[k][m] ** 2;
      }
      grow(k + 1, n + 1, total);
    }
  }
  grow(0, 0, 0);
  return { greedy, best, random: sum.map((v, k) => k ? v / count[k] : 0), best_sets: sets, order };
}
export const topOf = (v) => [0.5, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30].find((top) => top >= 1.12 * v) ?? 50;
const meanOf = (values) => values.reduce((s, v) => s + v, 0) / values.length;
export function saysOf(now, { greedy, best, random }, { x, most }, ringed) {
  const k = now.you.length - 1, each = [now.you[k], greedy[k], best[k], random[k]];
  const rivals = RIVAL_NAMES.map((name, j) => `${name} ${minus(each[j])}`).join(", ");
  const words = `${k} taken, ${most - k} left: ${rivals} nats`;
  if (ringed < 0) return words;
  const free = now.offers.filter((v) => !Number.isNaN(v));
  const offers = `x = ${minus(x[ringed])} offers ${minus(now.offers[ringed])}`;
  return `${words}; ${offers}, the star ${minus(Math.max(...free))}, mean ${minus(meanOf(free))}`;
}

export default function make(data, opening) {
  const now = { ...data.opening, taken: [...data.opening.taken] }, [plane, bars, offered] = opening.panels;
  const { x, y, most } = data, all = Array.from(x, (_, n) => n), known = { of: "" };
  let ringed = -1, chosen = false; // the ring is at the star until the reader moves it
  const free = () => now.taken.length < most ? all.filter((n) => !now.taken.includes(n)) : [];
  const number = (v) => String(parseFloat(v.toPrecision(2)));
  function rivals() { // every set anew only when width or noise has changed
    const of = `${now.inverse_width} ${now.noise}`;
    if (known.of !== of) Object.assign(known, { of, totals: totals(now, data) });
    return known.totals;
  }
  function state() {
    const drawn = choice(now, data), open = free();
    if (!open.length) drawn.star = -1;
    if (!chosen || !open.includes(ringed)) [ringed, chosen] = [drawn.star, false];
    return drawn;
  }
  function take(n) {
    if (!free().includes(n)) return;
    now.taken.push(n);
    chosen = false;
  }
  const undo = () => (now.taken.pop(), chosen = false), again = () => (now.taken = [], chosen = false);
  const near = (u) => free().reduce((a, b) => a < 0 || Math.abs(x[b] - u) < Math.abs(x[a] - u) ? b : a, -1);
  const slider = (label, name, [min, max]) => ({
    ...{ label, min: Math.log10(min), max: Math.log10(max), step: 0.02 },
    get: () => Math.log10(now[name]),
    set: (v) => now[name] = 10 ** v,
    text: () => number(now[name]),
  });
  const full = () => free().length ? "" : "all have been taken", none = () => now.taken.length ? "" : "none is active";
  return {
    point(_, u, _up, phase) {
      if (phase !== "up") [ringed, chosen] = [near(u), true];
      else take(ringed);
    },
    arrow(_, right, up) { // to the next point that is not active, on either side
      state();
      const open = free().sort((a, b) => x[a] - x[b]), step = right || up;
      if (open.length) {
        [ringed, chosen] = [open[Math.min(Math.max(open.indexOf(ringed) + step, 0), open.length - 1)], true];
      }
    },
    key(_, name) {
      if (name === "Enter") (state(), take(ringed));
      else if (name === "Delete" || name === "Backspace") undo();
      else if (name === "Home") again();
      else return false;
      return true;
    },
    controls: [
      slider("inverse width γ", "inverse_width", data.widths),
      slider("noise σ²", "noise", data.noises),
      { label: "Take ★", set: () => take(state().star), unused: full },
      { label: "Undo", set: undo, unused: none },
      { label: "Clear", set: again, unused: none },
      { label: "Best set", set: () => now.taken = [...rivals().best_sets[now.taken.length]], unused: none },
    ],
    scene(width) {
      const drawn = state(), sums = rivals(), k = now.taken.length, narrow = width < 520;
      const at = (rows, height) => ({ x: rows.map((n) => x[n]), y: rows.map((n) => height[n]) });
      const rest = all.filter((n) => !now.taken.includes(n)), ring = ringed < 0 ? [] : [ringed];
      const star = drawn.star < 0 ? [] : [drawn.star];
      const first = changed(plane, {
        band: {
          x: data.grid,
          low: drawn.mean.map((m, j) => m - 2 * drawn.deviation[j]),
          high: drawn.mean.map((m, j) => m + 2 * drawn.deviation[j]),
        },
        mean: { x: data.grid, y: drawn.mean },
        inactive: at(rest, y),
        active: at(now.taken, y),
        order: {
          ...{ x: now.taken.map((n) => x[n]), y: now.taken.map((n) => y[n] + 0.6) },
          text: now.taken.map((_, j) => String(j + 1)),
        },
        ring: at(ring, y),
      });
      const rows = [drawn.you, sums.greedy, sums.best, sums.random], top = topOf(sums.best[most]), marks = {};
      const offer = ring.map((n) => drawn.offers[n]);
      rows.forEach((total, column) => {
        const base = Array.from(total.slice(0, k)), height = base.map((v, j) => total[j + 1] - v);
        const steps = { x: base.map(() => column), height, base };
        Object.assign(marks, { [RIVAL_NAMES[column]]: steps, [`${RIVAL_NAMES[column]} steps`]: steps });
      });
      marks.offer = { x: ring.map(() => 0), height: offer, base: ring.map(() => drawn.you[k]) };
      marks.numbers = {
        x: [0, 1, 2, 3],
        y: rows.map((total, j) => total[k] + (j ? 0 : offer[0] ?? 0) + 0.045 * top),
        text: rows.map((total, j) => [total[k], ...(j ? [] : offer)].map((v) => minus(v)).join(" + ")),
      };
      const title = k ? `taken off by ${k} point${k === 1 ? "" : "s"}` : "no point is active yet";
      const second = changed({ ...bars, title, y: { ...bars.y, limits: [0, top] } }, marks);
      const high = topOf(0.5 * Math.log1p(1 / now.noise));
      const third = changed({ ...offered, y: { ...offered.y, limits: [0, high] } }, {
        curve: { x: data.grid, y: drawn.curve },
        mean: { y: rest.length ? [meanOf(rest.map((n) => drawn.offers[n]))] : [] },
        offers: at(rest, drawn.offers),
        star: at(star, drawn.offers),
        ring: at(ring, drawn.offers),
      });
      const how = "Arrow keys move the ring, Enter takes the ringed point, Delete undoes, Home clears.";
      const look = narrow
        ? [{ aspect: 0.5 }, { rows: 1, aspect: 0.62, span: 2 }, {
          aspect: 0.4,
          title: "entropy a point would take off",
        }]
        : [{}, {}, {}];
      const panels = [{ ...first, how }, second, { ...third, how }].map((panel, j) => ({ ...panel, ...look[j] }));
      return {
        panels: narrow ? [panels[0], panels[2], panels[1]] : panels,
        says: saysOf(drawn, sums, data, ringed),
        columns: narrow ? 2 : 3,
        least: 100,
      };
    },
  };
}
