// The page's half of wishart_ellipses.py: Wishart matrices of two points, as ellipses.
import { changed, clamp } from "./marks.js";

export const axesOf = ({ long, short, turn }) => { // the two half axes of the scale's ellipse, as columns of [a, b; c, d]
  const c = Math.cos(turn), s = Math.sin(turn);
  return [long * c, -short * s, long * s, short * c];
};
export const featuresOf = ([a, b, c, d], normals, r, draw) => { // g_j = axes z_j, the first r of one draw
  const z = normals.subarray(2 * draw.of * draw.number, 2 * draw.of * draw.number + 2 * r), x = [], y = [];
  for (let j = 0; j < r; j++) {
    x.push(a * z[2 * j] + b * z[2 * j + 1]);
    y.push(c * z[2 * j] + d * z[2 * j + 1]);
  }
  return { x, y };
};
export function sums(axes, normals, most) { // a11, a12, a22 of A for each draw and each r, one after another
  const n = normals.length / (2 * most), A = new Float64Array(3 * n * most), [a, b, c, d] = axes;
  for (let k = 0; k < n * most; k++) {
    const x = a * normals[2 * k] + b * normals[2 * k + 1], y = c * normals[2 * k] + d * normals[2 * k + 1];
    [x * x, x * y, y * y].forEach((v, e) => A[3 * k + e] = v + (k % most ? A[3 * (k - 1) + e] : 0)); // (4.3)
  }
  return A;
}
export function factorsOf(A, most, r) { // L L' = A / r for each draw: the image of a circle is its ellipse
  const n = A.length / (3 * most), factors = new Float64Array(4 * n);
  for (let m = 0; m < n; m++) {
    const [xx, xy, yy] = A.subarray(3 * (m * most + r - 1)), first = Math.sqrt(xx / r), second = xy / r / first;
    factors.set([first, 0, second, r > 1 ? Math.sqrt(Math.max(yy / r - second * second, 0)) : 0], 4 * m);
  }
  return factors;
}
export function spreads([a, b, c, d], A, most) { // |A / r - Sigma| / |Sigma|: over the draws, and expected, for each r
  const S = [a * a + b * b, a * c + b * d, c * c + d * d], n = A.length / (3 * most);
  const squares = S[0] ** 2 + 2 * S[1] ** 2 + S[2] ** 2, trace = S[0] + S[2], seen = [], expected = [];
  for (let r = 1; r <= most; r++) {
    let s = 0;
    for (let m = 0; m < n; m++) {
      const at = 3 * (m * most + r - 1), off = (e) => (A[at + e] / r - S[e]) ** 2;
      s += off(0) + 2 * off(1) + off(2);
    }
    seen.push(Math.sqrt(s / n / squares));
    expected.push(Math.sqrt((1 + trace * trace / squares) / r)); // the variances of A, added up
  }
  return { seen, expected };
}
export function picture({ r, draw, ...ellipse }, { normals, most }) { // all that is drawn, as numbers
  const axes = axesOf(ellipse), A = sums(axes, normals, most), factors = factorsOf(A, most, r);
  const features = featuresOf(axes, normals, r, { number: draw, of: most });
  return { axes, factors, features, ...spreads(axes, A, most) };
}
export function saysOf(r, seen, expected) {
  const line = r === 1 ? " Every draw is a line." : "";
  return `r = ${r}: the draws are ${seen.toFixed(2)} |Σ| away from Σ, in theory ${expected.toFixed(2)} |Σ|.${line}`;
}

export default function make(data, opening) {
  const now = { ...data.opening }, [plane, curve] = opening.panels, { counts, most, least, largest } = data;
  let held = 0; // 0: the end of the long axis, 1: that of the short one
  const nearest = (r) => counts.reduce((best, c, k) => Math.abs(c - r) < Math.abs(counts[best] - r) ? k : best, 0);
  const ends = () => {
    const [a, b, c, d] = axesOf(now);
    return [[a, c], [b, d]];
  };
  function move(u, v) { // the first end goes where the hand is, the second along its own line
    if (held === 0) {
      const size = Math.hypot(u, v);
      if (size > 1e-9) [now.long, now.turn] = [clamp(size, least, largest), Math.atan2(v, u)];
    } else now.short = clamp(v * Math.cos(now.turn) - u * Math.sin(now.turn), least, largest);
  }
  function point(panel, u, v, phase) {
    if (panel === "spread") now.r = clamp(Math.round(u), 1, most);
    else if (phase === "down") {
      const [first, second] = ends().map(([x, y]) => Math.hypot(x - u, y - v));
      held = first <= second ? 0 : 1;
      move(u, v);
    } else if (phase === "move") move(u, v);
  }
  return {
    point,
    arrow(panel, across, up) {
      const [x, y] = ends()[held];
      if (panel === "spread") now.r = clamp(now.r + across + up, 1, most);
      else move(x + across * data.step, y + up * data.step);
    },
    key(panel, name) {
      if (panel !== "ellipses" || name !== " ") return false;
      held = 1 - held;
      return true;
    },
    controls: [
      {
        ...{ label: "features r", min: 0, max: counts.length - 1, step: 1 },
        get: () => nearest(now.r),
        set: (k) => now.r = counts[k],
        text: () => String(now.r),
      },
      { label: "Another draw in orange", set: () => now.draw = (now.draw + 1) % (data.normals.length / (2 * most)) },
    ],
    scene(width) {
      const { axes, factors, features, seen, expected } = picture(now, data), narrow = width < 520;
      const [s, e] = [seen[now.r - 1], expected[now.r - 1]], [x, y] = ends()[held];
      const first = changed(plane, {
        draws: { factors },
        features,
        draw: { factors: factors.slice(4 * now.draw, 4 * now.draw + 4) },
        scale: { factors: Float64Array.from(axes) },
        ends: { x: [axes[0], axes[1]], y: [axes[2], axes[3]] },
        ring: { x: [x], y: [y] },
      });
      const second = changed(curve, {
        theory: { y: expected },
        seen: { y: seen },
        now: { x: [now.r] },
        point: { x: [now.r], y: [s] },
      });
      const how = "Arrow keys move the ringed end of an axis, Space takes the other.";
      return {
        panels: [
          { ...first, how, title: `draws of A/r, r = ${now.r}`, aspect: narrow ? 0.9 : undefined },
          { ...second, how: "Arrow keys change the number of features.", aspect: narrow ? 0.62 : undefined },
        ],
        says: saysOf(now.r, s, e),
        least: narrow ? 300 : 100,
      };
    },
  };
}
