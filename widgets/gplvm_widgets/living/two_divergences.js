// The page's half of two_divergences.py: two Gaussians in the plane, and the divergence both ways.
import { covarianceOf, directions, layout, minus, nearest, outline, segments } from "./ellipse.js";
import { changed, clamp } from "./marks.js";

const FORWARD = "KL(S‖K)", REVERSED = "KL(K‖S)";
export const h = (t) => t - 1 - Math.log(t); // (3.4)
const matrixOf = ({ angle, deviations }) => covarianceOf(angle, deviations.map((d) => d * d));
export function ratiosOf(S, K) { // eigenvalues of K^-1 S, the smaller first
  const [u, v] = directions(K.angle), [a, b, c] = matrixOf(S), [p, q] = K.deviations;
  const form = (m, n) => a * m[0] * n[0] + b * (m[0] * n[1] + m[1] * n[0]) + c * m[1] * n[1];
  const first = form(u, u) / (p * p), mixed = form(u, v) / (p * q), second = form(v, v) / (q * q);
  const larger = (first + second) / 2 + Math.hypot((first - second) / 2, mixed);
  const determinant = (S.deviations[0] * S.deviations[1] / (p * q)) ** 2; // the smaller by division: no cancellation
  return [determinant / larger, larger];
}
export const divergence = (ratios) => ratios.reduce((s, t) => s + h(t) / 2, 0); // (3.4)
const upright = (variances) => ({ angle: 0, deviations: variances.map(Math.sqrt) });
export function within(K, family) { // K as a member of the family
  if (family === "a circle") return upright([0, 1].map(() => K.deviations[0] * K.deviations[1]));
  const [a, , c] = matrixOf(K);
  return family === "axes upright" ? upright([a, c]) : K;
}
export function bestOf(S, family, reverse) { // the member of the family with the least divergence
  if (family === "any ellipse") return S;
  const [a, b, c] = matrixOf(S), [p, q] = S.deviations.map((d) => d * d), determinant = a * c - b * b;
  if (family === "axes upright") return upright(reverse ? [determinant / c, determinant / a] : [a, c]);
  const mean = reverse ? 2 / (1 / p + 1 / q) : (p + q) / 2; // (3.21), (3.13)
  return upright([mean, mean]);
}
const inverse = (ratios) => ratios.map((t) => 1 / t);
export function numbers({ S, K, family }) { // what `divergence_numbers` of two_divergences.py computes
  const ratios = ratiosOf(S, K), best = [bestOf(S, family, false), bestOf(S, family, true)];
  const least = [divergence(ratiosOf(S, best[0])), divergence(inverse(ratiosOf(S, best[1])))];
  return { ratios, forward: divergence(ratios), reversed: divergence(inverse(ratios)), best, least };
}
export function saysOf({ forward, reversed, ratios, least }) {
  const part = (name, value, r) => `${name} = ${minus(value)} = ½ [${r.map((t) => `h(${minus(t)})`).join(" + ")}]`;
  const both = `${part(FORWARD, forward, ratios)}, ${part(REVERSED, reversed, inverse(ratios))}`;
  return `${both}; least: ${minus(least[0])} and ${minus(least[1])}`;
}
const variances = ({ deviations }) => deviations.map((d) => minus(d * d)).join(", ");
export const roundTop = (value) => [1, 2, 5, 10, 20, 50, 100, 200].find((v) => v >= 1.12 * value) ?? 500;
export function curveLimits(ratios) {
  const farthest = Math.max(ratios[1], 1 / ratios[0]);
  return [[10, 30, 100, 300].find((w) => w > 1.05 * farthest) ?? 1000, roundTop(h(farthest))];
}

export default function make(data, opening) {
  const now = structuredClone(data.opening), [plane, curve, bars] = opening.panels, [shortest, longest] = data.limits;
  const reach = plane.x.limits[1], ellipses = () => [now.K, now.S];
  let held = -1, chosen = 0;
  const endsOf = ({ angle, deviations }) => directions(angle).map((d, i) => d.map((v) => deviations[i] * v));
  const ends = () => ellipses().flatMap(endsOf); // two of K, two of S
  function pull(end, x, y) { // the end of an axis goes there, as far as the family lets it
    const i = end % 2, free = end > 1 || now.family === "any ellipse", e = end > 1 ? now.S : now.K;
    const along = now.family === "axes upright" && !free ? Math.abs(i ? y : x) : Math.hypot(x, y);
    const length = clamp(along, shortest, longest), circle = !free && now.family === "a circle";
    const made = {
      angle: free && along > 1e-9 ? Math.atan2(y, x) - i * Math.PI / 2 : e.angle,
      deviations: e.deviations.map((d, k) => k === i || circle ? length : d),
    };
    if (end > 1) now.S = made;
    else now.K = made;
  }
  function point(_, x, y, phase) {
    if (phase === "down") {
      const [end, far] = nearest(ends(), x, y);
      held = far < 0.16 * reach ? end : -1;
      if (held >= 0) chosen = held;
    } else if (held >= 0 && phase === "move") pull(held, x, y);
    else if (phase === "up") held = -1;
  }
  const goTo = (reverse) => now.K = structuredClone(bestOf(now.S, now.family, reverse));
  return {
    point,
    arrow(_, right, up) {
      const [x, y] = ends()[chosen], step = reach / 60;
      if (chosen > 1 || now.family !== "a circle") return pull(chosen, x + right * step, y + up * step);
      pull(chosen, Math.hypot(x, y) + (right + up) * step, 0); // a circle grows or shrinks
    },
    key(_, name) {
      if (name !== " ") return false;
      chosen = (chosen + 1) % 4;
      return true;
    },
    controls: [
      {
        ...{ label: "K is", options: data.families },
        get: () => now.family,
        set: (v) => [now.family, now.K] = [v, within(now.K, v)],
      },
      { label: `Least ${FORWARD}`, set: () => goTo(false) },
      { label: `Least ${REVERSED}`, set: () => goTo(true) },
    ],
    scene(width) {
      const drawn = numbers(now), { ratios, best, least } = drawn, back = inverse(ratios), at = ends();
      const places = (p) => ({ x: p.map((v) => v[0]), y: p.map((v) => v[1]) });
      const line = ({ angle, deviations }) => outline(angle, deviations), centre = [[0, 0], [0, 0]];
      const title = `eigenvalues of S: ${variances(now.S)}; of K: ${variances(now.K)}`;
      const dashed = (k) => {
        const size = now.family === "a circle" ? `: c = ${minus(best[k].deviations[0] ** 2)}` : "";
        return { ...line(best[k]), label: `best for ${[FORWARD, REVERSED][k]}${size}` };
      };
      const first = changed({ ...plane, title }, {
        S: line(now.S),
        K: line(now.K),
        "best 0": dashed(0),
        "best 1": dashed(1),
        "axes S": segments(centre, at.slice(2)),
        "axes K": segments(centre, at.slice(0, 2)),
        "ends S": places(at.slice(2)),
        "ends K": places(at.slice(0, 2)),
        chosen: places([at[chosen]]),
        names: places(at.map((p) => p.map((v) => v * (1 + 0.3 / Math.hypot(...p))))),
      });
      const [widest, tallest] = curveLimits(ratios), steps = data.curve - 1;
      const t = Array.from({ length: data.curve }, (_, k) => widest ** (2 * k / steps - 1));
      const second = changed(curve, {
        h: { x: t, y: t.map(h) },
        forward: { x: ratios, y: ratios.map(h) },
        reversed: { x: back, y: back.map(h) },
      });
      const values = [drawn.forward, drawn.reversed], top = roundTop(Math.max(...values)), parts = {};
      [ratios, back].forEach((r, k) => {
        parts[`first ${k}`] = { height: [h(r[0]) / 2] };
        parts[`second ${k}`] = { height: [h(r[1]) / 2], base: [h(r[0]) / 2] };
      });
      const third = changed(bars, {
        ...parts,
        least: { y: least },
        numbers: { y: values.map((v) => v + 0.045 * top), text: values.map((v) => minus(v)) },
      });
      const { spans, aspects } = layout(width, [6, 6]);
      const how = "Arrow keys move the ringed end of an axis, Space takes the next one.";
      const limits = [
        {},
        {
          x: { ...second.x, limits: [1 / widest, widest] },
          y: { ...second.y, limits: [-0.04 * tallest, tallest] },
        },
        { y: { ...third.y, limits: [0, top] } },
      ];
      return {
        panels: [first, second, third].map((p, k) => ({
          ...{ ...p, ...limits[k], span: spans[k], aspect: aspects[k] },
          how: k ? "" : how,
        })),
        says: saysOf(drawn),
        least: 1,
      };
    },
  };
}
