// The page's half of latent_map.py: a fitted map, decoded wherever the reader points.
import { cholesky, covariance, covariances, dot, solveLower } from "./gp.js";
import { changed, clamp } from "./marks.js";
import { finderOf, hidden, percent, stroke } from "./mode_finder.js";
import { short } from "../scene/scene.js";

// ---------------------------------------------------------------- the map
export function mapOf(data) { // x -> {mean (D,), deviation (1,) or (D,), share of the prior's deviation}
  const known = data.centres && kernelAt(data), between = data.grid && interpolation(data);
  const meanAt = data.constant ? sums(data, known) : (x) => between(x).mean;
  const doubtAt = data.certain ? () => ({ deviation: [0], share: 0 }) : between ?? deviations(data, known);
  return (x) => ({ ...doubtAt(x), mean: meanAt(x) });
}
function kernelAt({ kernel, centres }) { // x -> k(x, Z), once for mean and deviation
  const rows = Array.from({ length: centres.length / 2 }, (_, n) => centres.slice(2 * n, 2 * n + 2));
  let last = null, k = null;
  return (x) => x === last ? k : (last = x, k = Float64Array.from(rows, (z) => covariance(kernel, x, z)));
}
function deviations({ kernel, centres, noise, weight_covariance: C, largest }, known) {
  if (C) { // of a plane with uncertain weights: x'C x, (1.24)
    return ([a, b]) => {
      const deviation = Math.sqrt(Math.max(C[0] * a * a + (C[1] + C[2]) * a * b + C[3] * b * b, 0));
      return { deviation: [deviation], share: deviation / largest };
    };
  }
  const N = centres.length / 2, L = cholesky(covariances(kernel, centres, centres, 2), N, noise);
  return (x) => { // k(x, x) - k'K^-1 k, (5.8)
    const v = solveLower(L, known(x)), prior = covariance(kernel, x, x);
    const variance = Math.max(prior - dot(v, v), 0);
    return { deviation: [Math.sqrt(variance)], share: Math.sqrt(variance / Math.max(prior, 1e-300)) };
  };
}
function sums(data, known) { // m + B x + k(x, Z) A: (1.4), (5.7), (9.2), (13.2)
  const { constant, linear, kernel, weights } = data, D = constant.length;
  return (x) => {
    const mean = constant.map((m, d) => m + linear[2 * d] * x[0] + linear[2 * d + 1] * x[1]);
    if (!kernel) return mean;
    known(x).forEach((k, n) => {
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
  const panelOf = (key) => opening.panels.find((panel) => panel.key === key);
  const [plane, drawing, decoded, doubt] = ["plane", "drawing", "decoded", "doubt"].map(panelOf);
  let x = Float64Array.from(data.start);
  const moveTo = (u, v) => x = Float64Array.of(clamp(u, left, right), clamp(v, bottom, top));
  const placed = data.finder && placing(data, decode, moveTo);
  function nearest(to) {
    let best = 0, least = Infinity;
    for (let n = 0; n < points.length / 2; n++) {
      const away = Math.hypot((points[2 * n] - to[0]) / (right - left), (points[2 * n + 1] - to[1]) / (top - bottom));
      if (away < least) [best, least] = [n, away];
    }
    return best;
  }
  const nearWords = (to) =>
    names ? ` near ${names[target[nearest(to)]]}` : ` at ${short(to[0], 2)}, ${short(to[1], 2)}`;
  function planeNow(near) {
    const ring = { x: [points[2 * near]], y: [points[2 * near + 1]] };
    const how = "Arrow keys move the cross, with Shift in longer steps.";
    const now = {
      ...changed(plane, { cross: { x: x[0], y: x[1] }, ring }),
      aspect: (top - bottom) / (right - left),
      how,
    };
    return placed?.row ? placed.on(now) : now;
  }
  function decodedNow({ mean, deviation, share }) {
    if (data.image) {
      return { ...changed(decoded, { decoded: { values: mean, opacity: 1 - 0.7 * share } }), aspect: data.image };
    }
    const place = Array.from(mean, (_, d) => d + 1), gap = NaN;
    const reach = (d) => 2 * deviation[deviation.length > 1 ? d : 0];
    const at = place.flatMap((p) => [p, p, gap]);
    const bars = Array.from(mean).flatMap((m, d) => [m - reach(d), m + reach(d), gap]);
    const row = placed?.row ? { x: place, y: Array.from(placed.row), label: "the row" } : { x: [], y: [], label: "" };
    const moved = data.sideways // columns one below the other, with their names
      ? { decoded: { x: mean }, deviations: { x: bars, y: at }, placed: { ...row, x: row.y, y: row.x } }
      : { decoded: { y: mean }, deviations: { x: at, y: bars }, placed: row };
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
    const there = sure + (names ? ` Nearest point: ${names[target[near]]}.` : "");
    return placed?.row ? `${placed.says(nearWords, x)} ${there}` : there;
  }
  return {
    controls: placed ? placed.controls : [],
    key: (panel, name) => panel === "drawing" && placed.key(name),
    point: (panel, u, v, phase) => panel === "drawing" ? placed.paint(u, v, phase) : phase !== "up" && moveTo(u, v),
    arrow(panel, across, up) {
      if (panel === "drawing") return placed.step(across, up);
      moveTo(x[0] + across * (right - left) / 100, x[1] + up * (top - bottom) / 100);
    },
    scene(width) {
      const now = decode(x), near = nearest(x), told = { says: says(now, near), least: 1 };
      const [first, second, third] = [planeNow(near), decodedNow(now), doubt && doubtNow(now.share)];
      const sheet = drawing && { ...placed.sheet(drawing), aspect: data.image };
      let panels = [{ ...first, rows: 9 }, sheet && { ...sheet, rows: 1 }, { ...second, rows: 1 }];
      panels.push(third && { ...third, rows: 8 });
      if (width < 520) { // on a telephone the decoded point stands above the plane, where no finger hides it
        const flat = data.sideways ? Math.max(0.4, 14 * now.mean.length / Math.max(width, 1)) : 0.4;
        const small = data.image ? { ...second, span: sheet ? 5 : 4 } : { ...second, span: 10, aspect: flat };
        const bar = third && { ...third, span: sheet ? 10 : 6, aspect: sheet ? 0.06 : 0.09 };
        panels = [sheet && { ...sheet, span: 5 }, small, bar, { ...first, span: 10 }].map((p) =>
          p && { ...p, rows: 1 }
        );
      }
      return { panels: panels.filter(Boolean), ...told };
    },
  };
}
function placing(data, decode, moveTo) { // the row that is to be placed: drawn, or taken; and where it may lie
  const { finder, shape, ink, box } = data, find = finderOf(data, decode), D = data.new.length / data.new_names.length;
  const blank = () => new Float64Array(D).fill(ink[0]), [NONE, OWN] = ["none", "your drawing"];
  const rowOf = (k) => Float64Array.from(data.new.slice(k * D, (k + 1) * D));
  let whole = null, covered = false, source = NONE, pixel = null, from = null, erasing = false;
  const me = { row: null, values: null, found: [] };
  function look(starts = finder.starts) { // its density over the map, its places; the cross goes to the best
    me.row = whole && (covered ? hidden(whole, shape) : whole);
    if (!whole) return;
    me.values = find.density(me.row);
    me.found = find.places(me.row, me.values, starts);
    moveTo(...me.found[0].x);
  }
  function take(name) {
    const k = data.new_names.indexOf(name);
    [source, whole] = [name, k >= 0 ? rowOf(k) : name === OWN ? whole ?? blank() : null];
    look();
  }
  const isInked = (k) => whole && whole[k] > ink[0] + 0.75 * (ink[1] - ink[0]);
  const at = ([u, v]) => clamp(Math.round(v), 0, shape[0] - 1) * shape[1] + clamp(Math.round(u), 0, shape[1] - 1);
  function draw(to, starts) {
    [source, whole] = [OWN, stroke(whole ?? blank(), shape, ink, from, to, erasing)];
    from = to;
    look(starts);
  }
  me.paint = (u, v, phase) => {
    if (phase === "up") return from = null, whole && look();
    if (phase === "down") [from, erasing, pixel] = [[u, v], isInked(at([u, v])), null];
    if (from) draw([u, v], 1); // the other places when the hand is lifted
  };
  me.step = (across, up) => {
    const [u, v] = pixel ?? [Math.floor(shape[1] / 2) - Math.sign(across), Math.floor(shape[0] / 2) + Math.sign(up)];
    pixel = [clamp(u + across, 0, shape[1] - 1), clamp(v - up, 0, shape[0] - 1)];
  };
  me.key = (name) => {
    if (name === "Delete" || name === "Backspace") return take(NONE), true;
    if (name !== " " && name !== "Enter") return false;
    pixel ??= [Math.floor(shape[1] / 2), Math.floor(shape[0] / 2)];
    whole = Float64Array.from(whole ?? blank());
    whole[at(pixel)] = isInked(at(pixel)) ? ink[0] : ink[1];
    source = OWN;
    look();
    return true;
  };
  me.sheet = (panel) => {
    const [i, j] = shape, values = me.row ?? blank(), middle = Math.ceil(i / 2) - 0.5;
    const cover = covered && whole ? { x: [-0.5, j - 0.5], low: [middle, middle], high: [i - 0.5, i - 0.5] } : {};
    const [u, v] = pixel ?? [NaN, NaN], round = { x: [-1, 1, 1, -1, -1], y: [-1, -1, 1, 1, -1] };
    const ring = { x: round.x.map((a) => u + a / 2), y: round.y.map((a) => v + a / 2) };
    const how = "Arrow keys go from pixel to pixel, Space inks one or wipes it, Delete clears.";
    const title = source === NONE ? panel.title : source;
    return { ...changed(panel, { drawing: { values }, cover, pixel: ring }), how, title };
  };
  const shown = () => me.found.filter(({ weight }, k) => k < 2 || weight >= 0.0005).slice(0, finder.shown);
  me.on = (panel) => { // the plane with the row's density in place of the map's precision
    const high = me.found[0].value, { side } = finder, stars = shown(), [left, right, bottom, top] = box;
    const shades = { kind: "image", key: "density", values: me.values, rows: side, columns: side, extent: box };
    Object.assign(shades, {
      low: high - 60,
      high,
      ramp: "precision",
      smooth: true,
      from_below: true,
      opacity: 1,
      label: "",
    });
    const marks = [shades, ...panel.marks.filter((mark) => mark.key !== "precision")];
    const stand = { x: stars.map((p) => p.x[0]), y: stars.map((p) => p.x[1]) }, lift = 0.045 * (top - bottom);
    const up = stand.y.map((y) => y + 2 * lift > top ? y - lift : y + lift);
    const aside = 0.07 * (right - left), inside = stand.x.map((x) => clamp(x, left + aside, right - aside));
    const weights = { x: inside, y: up, text: stars.map((p) => percent(p.weight)) };
    const title = "light: here it may lie; stars: the places with their weights";
    return { ...changed({ ...panel, marks }, { places: stand, weights }), title };
  };
  me.says = (near, x) => {
    const tell = ({ x, value, weight }) => `${value.toFixed(1)}, ${percent(weight)}${near(x)}`.replace("-", "−");
    const here = find.here(me.row, x), best = me.found[0].value;
    const cross = best - here > 0.05 ? ` At the cross ${(best - here).toFixed(1)} less than at the best.` : "";
    const [first, ...others] = shown().map(tell), then = others.length ? `; then ${others.join("; ")}` : "";
    return `Log density ${first}${then}.${cross}`;
  };
  const lack = () => whole ? "" : "there is nothing to place";
  const image = [
    { label: "Hide or show the lower half", set: () => (covered = !covered, look()), unused: lack },
    { label: "Clear", set: () => (covered = false, pixel = null, take(NONE)), unused: lack },
  ];
  const options = [NONE, ...(shape ? [OWN] : []), ...data.new_names];
  me.controls = [
    { label: shape ? "image" : "row", options, get: () => source, set: take },
    ...(shape ? image : []),
  ];
  return me;
}
