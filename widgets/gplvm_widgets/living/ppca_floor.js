// The page's half of ppca_floor.py: a Gaussian with two axes and a floor, from the eigenvalues of the data.
import { directions, layout, minus, nearest, outline, segments } from "./ellipse.js";
import { changed, clamp } from "./marks.js";

const mean = (values) => values.reduce((s, v) => s + v, 0) / values.length;
const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, n) => [flat[2 * n], flat[2 * n + 1]]);
export const bestLengths = (lam, floor) => [lam[0], lam[1]].map((v) => Math.sqrt(Math.max(v - floor, 0))); // (1.13)
export const bestFloor = (lam) => mean(Array.from(lam).slice(2)); // (1.14)
function alongAxes(angle, lam) { // the variance of the data along the two axes of W
  return directions(angle).map(([a, b]) => a * a * lam[0] + b * b * lam[1]);
}
export function likelihood({ angle, lengths, floor }, lam) { // per row, (1.6): C has the axes of W, then the floor
  const variances = lengths.map((l) => l * l + floor), spread = alongAxes(angle, lam);
  let sum = lam.length * Math.log(2 * Math.PI);
  variances.forEach((v, i) => sum += Math.log(v) + spread[i] / v);
  for (let j = 2; j < lam.length; j++) sum += Math.log(floor) + lam[j] / floor;
  return -sum / 2;
}
export const profile = (lam, floors) =>
  Array.from(floors, (floor) => likelihood({ angle: 0, lengths: bestLengths(lam, floor), floor }, lam));
export function numbers(state, data) { // what `floor_numbers` of ppca_floor.py computes from the rows
  const lam = data.eigenvalues, { angle, lengths, floor, row } = state, [u, v] = directions(angle);
  const shrinkage = lengths.map((l) => l * l / (l * l + floor));
  const best = likelihood({ angle: 0, lengths: bestLengths(lam, bestFloor(lam)), floor: bestFloor(lam) }, lam);
  const scaled = ([x, y], a, b) => { // the parts along the axes, times a and b
    const p = a * (x * u[0] + y * u[1]), q = b * (x * v[0] + y * v[1]);
    return [p * u[0] + q * v[0], p * u[1] + q * v[1]];
  };
  const rows = pairs(data.shown), value = likelihood(state, lam);
  const squares = lengths.map((l) => l * l), inPlane = (k) => squares[0] * u[k] ** 2 + squares[1] * v[k] ** 2 + floor;
  return {
    log_likelihood: value,
    gap: best - value,
    shrinkage,
    rows,
    reconstructions: rows.map((place) => scaled(place, ...shrinkage)), // W times the mean of (1.10)
    projection: scaled(rows[row], ...lengths.map((l) => l > 0 ? 1 : 0)),
    variances: Array.from(lam, (_, k) => k < 2 ? inPlane(k) : floor),
  };
}
export function saysOf({ floor, lengths }, { log_likelihood: value, gap, shrinkage }) {
  const used = lengths.filter((l) => l > 0).length, [first, second] = shrinkage.map((v) => minus(v));
  const fit = `log likelihood ${minus(value)} per row, ${minus(gap)} below the best`;
  const axes = `${used} ${used === 1 ? "axis" : "axes"} in use`;
  return `Floor ${minus(floor, 3)}: ${fit}; ${axes}; shrinkage factors ${first} and ${second}`;
}

export default function make(data, opening) {
  const lam = data.eigenvalues, { times, limits: [low, high] } = data, [plane, bars, side] = opening.panels;
  const now = { ...data.opening, angle: 0, lengths: bestLengths(lam, data.opening.floor) };
  const curve = profile(lam, data.floors), reach = plane.x.limits[1], longest = reach / times;
  let own = false, held = -1, chosen = 0;
  const ends = () => directions(now.angle).map((d, i) => d.map((v) => times * now.lengths[i] * v));
  function bestAxes() {
    own = false;
    [now.angle, now.lengths] = [0, bestLengths(lam, now.floor)];
  }
  function setFloor(value) {
    now.floor = clamp(value, low, high);
    if (!own) bestAxes();
  }
  function pull(i, x, y) { // the end of an axis goes there, the other one stays perpendicular
    own = true;
    const length = Math.hypot(x, y) / times;
    if (length > 1e-9) now.angle = Math.atan2(y, x) - i * Math.PI / 2;
    now.lengths = now.lengths.map((l, k) => k === i ? clamp(length, 0, longest) : l);
  }
  function inPlane(x, y, phase) {
    if (phase === "down") {
      const [end, toEnd] = nearest(ends(), x, y), [row, toRow] = nearest(pairs(data.shown), x, y);
      held = toEnd < Math.max(0.09 * reach, Math.min(toRow, 0.2 * reach)) ? end : -1;
      if (held >= 0) chosen = held;
      else if (toRow < 0.12 * reach) now.row = row;
    } else if (held >= 0 && phase === "move") pull(held, x, y);
    else if (phase === "up") held = -1;
  }
  function bestOfAll() {
    now.floor = bestFloor(lam);
    bestAxes();
  }
  const isBest = () => !own && Math.abs(now.floor - bestFloor(lam)) < 1e-12;
  return {
    point: (panel, x, y, phase) => panel === "plane" ? inPlane(x, y, phase) : phase !== "up" && setFloor(y),
    arrow(panel, right, up) {
      if (panel !== "plane") return setFloor(now.floor + up * high / 100);
      const end = ends()[chosen];
      pull(chosen, end[0] + right * reach / 60, end[1] + up * reach / 60);
    },
    key(panel, name) {
      if (name === " " && panel === "plane") chosen = 1 - chosen;
      else if (name === "Enter") bestAxes();
      else return false;
      return true;
    },
    controls: [
      {
        ...{ label: "floor σ²", min: Math.log10(low), max: Math.log10(high), step: 0.01 },
        get: () => Math.log10(now.floor),
        set: (v) => setFloor(10 ** v),
        text: () => minus(now.floor, 3),
      },
      {
        ...{ label: "ringed row", min: 0, max: data.shown.length / 2 - 1, step: 1 },
        get: () => now.row,
        set: (v) => now.row = v,
        text: () => String(now.row),
      },
      { label: "Best axes for this floor", set: bestAxes, unused: () => own ? "" : "these are the best axes" },
      { label: "Best axes and floor", set: bestOfAll, unused: () => isBest() ? "this is the best" : "" },
    ],
    scene(width) {
      const drawn = numbers(now, data), { rows, reconstructions, projection, variances, shrinkage } = drawn;
      const at = ends(), [mine, back] = [rows[now.row], reconstructions[now.row]];
      const point = ([x, y]) => ({ x: [x], y: [y] }),
        places = (p) => ({ x: p.map((v) => v[0]), y: p.map((v) => v[1]) });
      const beside = directions(now.angle).map((d, i) => d.map((v, k) => at[i][k] + 0.15 * reach * v));
      const first = changed(plane, {
        pull: segments(rows, reconstructions),
        rows: places(rows),
        floor: outline(0, [times, times].map((r) => r * Math.sqrt(now.floor))),
        model: outline(now.angle, now.lengths.map((l) => times * Math.sqrt(l * l + now.floor))),
        axes: segments([[0, 0], [0, 0]], at),
        "own pull": segments([mine], [back]),
        ring: point(mine),
        projection: point(projection),
        back: point(back),
        ends: places(at),
        chosen: point(at[chosen]),
        names: places(beside),
      });
      const on = Array.from(lam, (_, k) => k < 2 && now.lengths[k] > 0);
      const which = (kept) => Array.from(lam, (_, k) => k).filter((k) => on[k] === kept);
      const bar = (k, height) => ({ x: k.map((i) => i + 1), height: k.map(height), base: k.map(() => 0) });
      const sigma2 = { y: [now.floor] };
      const second = changed(bars, {
        kept: bar(which(true), (k) => lam[k]),
        discarded: bar(which(false), (k) => lam[k]),
        below: bar(which(true), (k) => Math.min(lam[k], now.floor)),
        sigma2,
        variances: { y: variances.slice(0, 2) },
        shares: { text: shrinkage.map((v) => now.angle === 0 ? minus(v) : "") },
      });
      const third = changed(side, {
        sigma2,
        curve: { x: curve, y: data.floors },
        now: { x: [Math.max(drawn.log_likelihood, side.x.limits[0])], y: [now.floor] },
      });
      const { spans, aspects } = layout(width, [7, 5]);
      const how = [
        "Arrow keys move the end of the ringed axis, Space takes the other one, Enter the best axes for this floor.",
        ...Array(2).fill("Arrow keys up and down move the floor, Enter takes the best axes for it."),
      ];
      return {
        panels: [first, second, third].map((p, k) => ({ ...p, how: how[k], span: spans[k], aspect: aspects[k] })),
        says: saysOf(now, drawn),
        least: 1,
      };
    },
  };
}
