// The page's half of gp_posterior.py: the posterior of a Gaussian process, for data that the reader puts down.
import { draws, evidence, posterior, summits, surface } from "./gp.js";

const minus = (value, digits = 2) => value.toFixed(digits).replace("-", "−").replace(/^−(0\.0*)$/, "$1");
export const settingsOf = (data) => ({ ...data.opening, x: Array.from(data.x), y: Array.from(data.y) });
export function kernelOf(name, gamma) { // as `kernel_of` of gp_posterior.py
  const width = { variance: 1, inverse_width: [gamma] };
  if (name === "linear") return { kind: "linear", variance: [1] };
  if (name === "periodic") return { kind: "periodic", period: 2, ...width };
  return { kind: name === "RBF" ? "rbf" : "matern32", ...width };
}
export function picture({ x, y, kernel: name, inverse_width, noise }, data) { // all that is drawn, as numbers
  const kernel = kernelOf(name, inverse_width), { mean, covariance } = posterior(kernel, x, y, data.grid, noise);
  const M = mean.length, deviation = mean.map((_, m) => Math.sqrt(Math.max(covariance[m * M + m], 0)));
  const samples = draws(mean, covariance, data.normals, data.jitter);
  return { mean, deviation, samples, terms: evidence(kernel, x, y, noise) };
}
const SIDE = 25; // of the surface: places each way
const placesOf = ([low, high]) => Array.from({ length: SIDE }, (_, k) => 10 ** (low + k * (high - low) / (SIDE - 1)));
export function landscape({ x, y, kernel }, data) { // the log evidence over inverse width and noise, and its summits
  const kernels = placesOf(data.widths).map((gamma) => kernelOf(kernel, gamma));
  const values = surface(kernels, x, y, placesOf(data.noises)), found = summits(values, SIDE);
  const at = (k, [low, high]) => low + k * (high - low) / (SIDE - 1), high = Math.max(...values);
  return {
    surface: { values, low: high - data.depth, high },
    summits: { x: found.map(([, j]) => at(j, data.widths)), y: found.map(([i]) => at(i, data.noises)) },
  };
}
export function saysOf(settings, [fit, volume, constant, total]) {
  const count = settings.x.length, what = `${count} ${count === 1 ? "datum" : "data"}, ${settings.kernel} kernel`;
  const parts = `fit ${minus(fit)}, volume ${minus(volume)}, constant ${minus(constant)}`;
  return `${what}: log evidence ${minus(total)} = ${parts}`;
}
export function roundLimits(terms) { // axes that change seldom: from a round number to a round number
  const up = (v) => v <= 0 ? 0 : [5, 10, 20, 50, 100, 200, 500].find((r) => r >= v) ?? 1000 * Math.ceil(v / 1000);
  return [-Math.max(up(1.15 * -Math.min(...terms)), 5), Math.max(up(1.15 * Math.max(...terms)), 5)];
}

export default function make(data, opening) {
  const now = settingsOf(data), [left, right, bottom, top] = data.box, [functions, bars, map] = opening.panels;
  let held = -1, chosen = now.x.length - 1, keep = true, from = [0, 0], known = { of: "" };
  const clamp = (v, a, b) => Math.min(Math.max(v, a), b);
  const apart = (u, v, k) => Math.hypot(data.across * (now.x[k] - u) / (right - left), (now.y[k] - v) / (top - bottom));
  function add(u, v) {
    if (now.x.length >= data.most) return false;
    now.x.push(clamp(u, left, right));
    now.y.push(clamp(v, bottom, top));
    chosen = now.x.length - 1;
    return true;
  }
  function remove(k) {
    now.x.splice(k, 1);
    now.y.splice(k, 1);
    chosen = now.x.length - 1;
  }
  function move(k, u, v) {
    now.x[k] = clamp(u, left, right);
    now.y[k] = clamp(v, bottom, top);
  }
  function moveTo(gamma, noise) { // powers of ten: the sliders follow
    if (now.kernel !== "linear") now.inverse_width = 10 ** clamp(gamma, ...data.widths);
    now.noise = 10 ** clamp(noise, ...data.noises);
  }
  function landscapeNow() { // it depends on the data and on the kind of the kernel only
    const of = JSON.stringify([now.x, now.y, now.kernel]);
    if (known.of !== of) known = { of, ...landscape(now, data) };
    return known;
  }
  function point(panel, u, v, phase) { // a click adds a datum or takes one away, a drag moves it
    if (panel === "surface") return phase !== "up" && moveTo(u, v);
    if (phase === "down") {
      const order = now.x.map((_, k) => k).sort((a, b) => apart(u, v, a) - apart(u, v, b));
      const taken = order.length && apart(u, v, order[0]) < data.reach;
      held = taken ? order[0] : add(u, v) ? chosen : -1;
      [keep, from] = [!taken, [u, v]];
      if (held >= 0) chosen = held;
    } else if (held >= 0 && phase === "move") {
      keep ||= Math.hypot(u - from[0], v - from[1]) > 0.01 * (right - left);
      if (keep) move(held, u, v);
    } else if (phase === "up") {
      if (held >= 0 && !keep) remove(held);
      held = -1;
    }
  }
  function widestGap() { // the middle of it, and the mean there
    const places = [left, ...[...now.x].sort((a, b) => a - b), right];
    const gaps = places.slice(1).map((v, k) => v - places[k]), k = gaps.indexOf(Math.max(...gaps));
    const u = (places[k] + places[k + 1]) / 2;
    return [u, posterior(kernelOf(now.kernel, now.inverse_width), now.x, now.y, [u], now.noise).mean[0]];
  }
  function key(panel, name) {
    if (panel === "surface") return false;
    if (name === "Enter") add(...widestGap());
    else if ((name === "Delete" || name === "Backspace") && now.x.length) remove(chosen);
    else if (name === " " && now.x.length) {
      const order = now.x.map((_, k) => k).sort((a, b) => now.x[a] - now.x[b]);
      chosen = order[(order.indexOf(chosen) + 1) % order.length];
    } else return false;
    return true;
  }
  const changed = (panel, changes) => ({ ...panel, marks: panel.marks.map((m) => ({ ...m, ...changes[m.key] })) });
  return {
    point,
    key,
    arrow(panel, across, up) {
      if (panel === "surface") moveTo(Math.log10(now.inverse_width) + 0.05 * across, Math.log10(now.noise) + 0.05 * up);
      else if (!now.x.length) add(0, 0);
      else move(chosen, now.x[chosen] + across * (right - left) / 60, now.y[chosen] + up * (top - bottom) / 60);
    },
    controls: [
      { label: "kernel", options: data.kernels, get: () => now.kernel, set: (v) => now.kernel = v },
      {
        ...{ label: "inverse width γ", min: data.widths[0], max: data.widths[1], step: 0.05 },
        get: () => Math.log10(now.inverse_width),
        set: (v) => now.inverse_width = 10 ** v,
        text: () => String(parseFloat(now.inverse_width.toPrecision(2))),
        unused: () => now.kernel === "linear" ? "a line has no width" : "",
      },
      {
        ...{ label: "noise variance σ²", min: data.noises[0], max: data.noises[1], step: 0.05 },
        get: () => Math.log10(now.noise),
        set: (v) => now.noise = 10 ** v,
        text: () => String(parseFloat(now.noise.toPrecision(2))),
      },
      {
        label: "Two optima",
        set() {
          const half = data.two_optima.length / 2;
          [now.x, now.y] = [0, 1].map((k) => Array.from(data.two_optima.slice(k * half, (k + 1) * half)));
          [now.kernel, now.inverse_width, now.noise, chosen] = ["RBF", ...data.between, half - 1];
        },
      },
      {
        label: "Clear",
        set: () => [now.x, now.y, chosen] = [[], [], -1],
        unused: () => now.x.length ? "" : "there are no data",
      },
    ],
    scene(width) {
      const { mean, deviation, samples, terms } = picture(now, data), grid = Array.from(data.grid);
      const curves = { x: samples.flatMap(() => [...grid, NaN]), y: samples.flatMap((f) => [...f, NaN]) };
      const ring = chosen >= 0 ? { x: [now.x[chosen]], y: [now.y[chosen]] } : { x: [], y: [] };
      const first = changed(functions, {
        band: { low: mean.map((m, k) => m - 2 * deviation[k]), high: mean.map((m, k) => m + 2 * deviation[k]) },
        draws: curves,
        mean: { y: mean },
        data: { x: [...now.x], y: [...now.y] },
        ring,
      });
      const narrow = width < 520,
        limits = roundLimits(terms).map((v) => narrow ? 1.12 * v : v),
        room = (narrow ? 0.07 : 0.055) * (limits[1] - limits[0]);
      const heights = Object.fromEntries(terms.map((v, k) => [`term ${k}`, { height: [v] }]));
      const second = changed(bars, {
        ...heights,
        numbers: {
          y: terms.map((v) => v + (v < 0 ? -room : room)),
          text: terms.map((v) => minus(v, narrow ? 1 : 2)),
          size: narrow ? 9 : 11,
        },
      });
      const small = { title: "evidence by term", legend: false, aspect: 1 }, names = ["fit", "vol.", "con.", "sum"];
      const across = narrow ? { ...second.x, tick_labels: names } : second.x;
      const { surface, summits } = landscapeNow();
      const place = { x: Math.log10(now.inverse_width), y: Math.log10(now.noise) };
      const third = changed(map, { surface: narrow ? { ...surface, bar: "" } : surface, summits, place });
      const how = "Arrow keys move the ringed datum, Enter adds one, Delete removes it, Space takes the next.";
      return {
        panels: [
          { ...first, how, rows: narrow ? 1 : 2, aspect: narrow ? 0.72 : undefined },
          { ...second, x: across, y: { ...second.y, limits }, ...(narrow ? small : {}) },
          { ...third, how: "Arrow keys move the cross.", ...(narrow ? { title: "surface, ★ maxima", aspect: 1 } : {}) },
        ],
        says: saysOf(now, terms),
        columns: narrow ? 2 : 3,
        least: 100,
      };
    },
  };
}
