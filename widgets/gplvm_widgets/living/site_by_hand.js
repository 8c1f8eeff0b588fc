// The page's half of site_by_hand.py: one observation, its tilted density, and the site that stands in for it.
import { minus } from "./ellipse.js";
import { changed, clamp } from "./marks.js";

const LN_2PI = Math.log(2 * Math.PI);
export function lowerTail(x) { // ln Phi(x) for x <= 0: a series near the middle, a continued fraction in the tail
  const log_phi = -0.5 * (x * x + LN_2PI);
  if (x > -4) {
    let term = x, sum = x;
    for (let k = 1; Math.abs(term) > 1e-17 * Math.abs(sum) && k < 200; k++) sum += term *= x * x / (2 * k + 1);
    return Math.log(0.5 + Math.exp(log_phi) * sum);
  }
  let fraction = -x;
  for (let k = 80; k > 0; k--) fraction = -x + k / fraction;
  return log_phi - Math.log(fraction);
}
export const logPhi = (x) => x <= 0 ? lowerTail(x) : Math.log1p(-Math.exp(lowerTail(-x)));
const phiOf = (x) => Math.exp(logPhi(x));
const LIKELIHOODS = { // ln p(y | f)
  gaussian: (f, y) => -0.5 * (f - y) ** 2 - 0.5 * LN_2PI,
  probit: (f, y) => logPhi(y * f),
  ordinal(f, y, { cuts }) {
    const edges = [-Infinity, ...cuts, Infinity], low = edges[y] - f, high = edges[y + 1] - f;
    const mirrored = f < (cuts[0] + cuts.at(-1)) / 2, [a, b] = mirrored ? [-high, -low] : [low, high];
    const at = (v) => v === Infinity ? 1 : v === -Infinity ? 0 : phiOf(v);
    return Math.log(Math.max(at(b) - at(a), 1e-300));
  },
  count(f, y) {
    let factorial = 0;
    for (let k = 2; k <= y; k++) factorial += Math.log(k);
    return y * f - Math.exp(f) - factorial;
  },
  heavy: (f, y, { tail }) => -Math.log(Math.PI * tail * (1 + ((f - y) / tail) ** 2)),
};
export function logLikelihood(answer, f, data) {
  const [kind, y] = data.answers[answer];
  return LIKELIHOODS[kind](f, y, data);
}
export function tableOf(answer, data) { // places of the sums over f, and ln p(y | f) there
  const n = Math.round(data.farthest / data.step),
    f = Float64Array.from({ length: 2 * n + 1 }, (_, k) => data.step * (k - n));
  return { f, log_p: f.map((v) => logLikelihood(answer, v, data)), step: data.step };
}
export function tiltedMoments({ f, log_p, step }, mean, variance) { // ln Z, mean and variance of the tilted density
  let top = -Infinity;
  const log_w = log_p.map((p, k) => {
    const v = p - 0.5 * (f[k] - mean) ** 2 / variance;
    if (v > top) top = v;
    return v;
  });
  let total = 0, first = 0, second = 0;
  const w = log_w.map((v, k) => {
    const weight = v - top < -60 ? 0 : Math.exp(v - top);
    total += weight;
    first += weight * f[k];
    return weight;
  });
  const middle = first / total;
  for (let k = 0; k < f.length; k++) second += w[k] * (f[k] - middle) ** 2;
  return [Math.log(step * total) + top - 0.5 * (LN_2PI + Math.log(variance)), middle, second / total]; // (8.4)
}
export function site(table, mean, variance, flat) { // what `site_numbers` computes
  const [log_partition, middle, spread] = tiltedMoments(table, mean, variance);
  const g = (middle - mean) / variance, nu = (1 - spread / variance) / variance; // (8.6)
  const precision = nu / (1 - nu * variance); // (8.7)
  const site_mean = Math.abs(precision) >= flat ? g / nu + mean : NaN; // (8.8)
  return { log_partition, mean: middle, variance: spread, g, nu, precision, site_mean };
}
export function shareMap(table, { means, deviations, places }) { // as `share_map`, row after row
  const [across, up] = places, at = ([low, high], k, n) => low + k * (high - low) / (n - 1);
  return Float64Array.from({ length: across * up }, (_, k) => {
    const variance = at(deviations, Math.floor(k / across), up) ** 2;
    return 1 - tiltedMoments(table, at(means, k % across, across), variance)[2] / variance;
  });
}
export function growing(share, { means, deviations, places: [across, up] }) { // every other place where nu is negative
  const found = { x: [], y: [] }, at = ([low, high], k, n) => low + k * (high - low) / (n - 1);
  for (let i = 0; i < up; i += 2) {
    for (let j = 0; j < across; j += 2) {
      if (share[i * across + j] < 0) (found.x.push(at(means, j, across)), found.y.push(at(deviations, i, up)));
    }
  }
  return { ...found, label: found.x.length ? "variance grows" : "" };
}
export const roundHeight = (v) => [0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5].find((top) => top >= 1.08 * v) ?? 10;
const bell = (f, mean, variance) => Math.exp(-0.5 * (f - mean) ** 2 / variance) / Math.sqrt(2 * Math.PI * variance);
export function saysOf(mean, variance, now) {
  const rest = ["log_partition", "g", "nu", "precision"].map((k) => minus(now[k]));
  const [ln_Z, g, nu, beta] = rest, moved = (a, b) => `${minus(a)} to ${minus(b)}`;
  const moments = `mean ${moved(mean, now.mean)}, variance ${moved(variance, now.variance)}`;
  return `${moments}; ln Z ${ln_Z}, g ${g}, ν ${nu}, β ${beta}`;
}
export function titleOf({ site_mean, precision }) {
  if (Number.isNaN(site_mean)) return "site: flat, precision β = 0.00";
  const what = precision < 0 ? "no Gaussian" : `mean ${minus(site_mean)}`;
  return `site: ${what}, precision β = ${minus(precision)}`;
}

export default function make(data, opening) {
  const now = { ...data.opening }, [above, map, below] = opening.panels, f = Array.from(data.curve), known = { of: "" };
  let from = null;
  function answered() { // what changes with the answer only
    if (known.of === now.answer) return known;
    const table = tableOf(now.answer, data), log_p = f.map((v) => logLikelihood(now.answer, v, data));
    const share = shareMap(table, data), grows = growing(share, data);
    return Object.assign(known, { of: now.answer, table, log_p, share, grows });
  }
  function go(mean, deviation) {
    now.mean = clamp(mean, ...data.means);
    now.deviation = clamp(deviation, ...data.deviations);
  }
  const heightNow = () => bells().top;
  function bells() { // the curves of the lower panel
    const { table, log_p } = answered(),
      variance = now.deviation ** 2,
      found = site(table, now.mean, variance, data.flat);
    const cavity = f.map((v) => bell(v, now.mean, variance));
    const tilted = f.map((_, k) => Math.exp(log_p[k] - found.log_partition) * cavity[k]);
    const matched = f.map((v) => bell(v, found.mean, found.variance));
    return { found, variance, cavity, tilted, matched, top: roundHeight(Math.max(...tilted, ...matched, ...cavity)) };
  }
  return {
    point(panel, u, v, phase) {
      if (panel === "map") return phase !== "up" && go(u, v);
      if (phase === "down") from = { u, share: v / heightNow(), ...now };
      else if (phase === "move" && from) { // as far as the hand has moved; to the top of the panel: a third
        go(from.mean + u - from.u, from.deviation * 3 ** (from.share - v / heightNow()));
      } else from = null;
    },
    arrow(panel, right, up) {
      go(now.mean + 0.1 * right, now.deviation + (panel === "map" ? 0.05 : -0.05) * up);
    },
    controls: [{
      label: "answer",
      options: Object.keys(data.answers),
      get: () => now.answer,
      set: (v) => now.answer = v,
    }],
    scene(width) {
      const { found, variance, cavity, tilted, matched, top } = bells(), { log_p, share, grows } = known;
      const likelihood = log_p.map(Math.exp), high = 1.3 * Math.max(...likelihood);
      const log_site = f.map((v) =>
        found.log_partition + 0.5 * Math.log(variance / found.variance) + 0.5 * (v - now.mean) ** 2 / variance -
        0.5 * (v - found.mean) ** 2 / found.variance
      );
      const first = changed({ ...above, title: titleOf(found), y: { ...above.y, limits: [0, high] } }, {
        likelihood: { x: f, y: likelihood },
        site: { x: f, y: log_site.map((v) => v < Math.log(3 * high) ? Math.exp(v) : NaN) },
      });
      const moved = (a, b) => `${minus(a)} → ${minus(b)}`;
      const title = `mean ${moved(now.mean, found.mean)}, variance ${moved(variance, found.variance)}`;
      const third = changed({ ...below, title, y: { ...below.y, limits: [0, top] } }, {
        tilted: { x: f, high: tilted },
        cavity: { x: f, y: cavity },
        matched: { x: f, y: matched },
        peak: { x: [now.mean], y: [bell(now.mean, now.mean, variance)] },
      });
      const second = changed(map, { share: { values: share }, grows, place: { x: now.mean, y: now.deviation } });
      const narrow = width < 600,
        panels = [
          first,
          { ...second, how: "Arrow keys move the cross: mean and deviation of the cavity." },
          { ...third, how: "Right and left arrow move the bell, up and down make it narrower or wider." },
        ];
      const aspects = [0.42, 0.5, 0.5];
      const fitted = panels.map((p, k) => narrow ? { ...p, span: 12, rows: 1, aspect: aspects[k] } : p);
      return {
        panels: narrow ? [fitted[0], fitted[2], fitted[1]] : fitted,
        says: saysOf(now.mean, variance, found),
        least: 1,
      };
    },
  };
}
