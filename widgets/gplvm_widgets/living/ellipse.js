// Ellipses that a hand turns: their axes and outlines, and numbers as they are written beside them.
export const minus = (value, digits = 2) => value.toFixed(digits).replace("-", "−").replace(/^−(0\.0*)$/, "$1");
export const directions = (angle) => { // two unit vectors, the second a quarter turn further
  const c = Math.cos(angle), s = Math.sin(angle);
  return [[c, s], [-s, c]];
};
export function covarianceOf(angle, variances) { // [a, b, c] of the matrix [[a, b], [b, c]] with these axes
  const [u, v] = directions(angle), entry = (i, j) => variances[0] * u[i] * u[j] + variances[1] * v[i] * v[j];
  return [entry(0, 0), entry(0, 1), entry(1, 1)];
}
export function outline(angle, radii, steps = 72) { // as `outline` of ellipse.py
  const [u, v] = directions(angle), x = [], y = [];
  for (let k = 0; k <= steps; k++) {
    const p = radii[0] * Math.cos(2 * Math.PI * k / steps), q = radii[1] * Math.sin(2 * Math.PI * k / steps);
    x.push(p * u[0] + q * v[0]);
    y.push(p * u[1] + q * v[1]);
  }
  return { x, y };
}
export function segments(from, to) { // one line from each place to another, gaps between them
  const side = (k) => from.flatMap((place, n) => [place[k], to[n][k], NaN]);
  return { x: side(0), y: side(1) };
}
export function layout(width, small) { // columns and heights of three panels: beside, or one above two in little room
  if (width >= 640) return { spans: [5, 4, 3], aspects: [] };
  return {
    spans: [12, ...small],
    aspects: [width < 450 ? 0.79 : 0.58, ...small.map((s) => (width < 450 ? 8 : 5.6) / s)],
  };
}
export const nearest = (places, u, v) => { // which of these places is nearest, and how far it is
  const far = places.map(([x, y]) => Math.hypot(x - u, y - v)), least = Math.min(...far);
  return [far.indexOf(least), least];
};
