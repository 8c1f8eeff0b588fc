// The page's half of em_lengths.py: the lengths of two axes under EM, one recursion for each.
import { changed, clamp } from "./marks.js";

export const step = (l, lambda, noise) => lambda * l / (noise + lambda * l * l / (l * l + noise)); // (4.32) for one axis
export const endOf = (lambda, noise) => Math.sqrt(lambda - noise); // (4.20)
export function lengthsOf(lambda, noise, start, last) { // after 0, 1, ... last steps, from `start` times the end
  const lengths = new Float64Array(last + 1);
  lengths[0] = start * endOf(lambda, noise);
  for (let t = 1; t <= last; t++) lengths[t] = step(lengths[t - 1], lambda, noise);
  return lengths;
}
export function countOf(lambda, noise, start, accuracy) { // the first step at which the length is as near as asked
  const end = endOf(lambda, noise);
  let l = start * end, t = 0;
  for (; Math.abs(l / end - 1) > accuracy && t < 1e6; t++) l = step(l, lambda, noise);
  return t;
}
export const ruleOf = (lambda, noise, start, accuracy) =>
  Math.max(lambda / (2 * noise) * Math.log(Math.abs(start * start - 1) / (2 * accuracy)), 0);
export function roundUp(value) { // axes that change seldom
  const unit = 10 ** Math.floor(Math.log10(value) + 1e-12);
  return unit * [1, 1.5, 2, 3, 5, 7, 10].find((m) => m * unit >= value * (1 - 1e-12));
}
export function picture({ noise, start, accuracy }, { eigenvalues, floor }) { // all that is drawn, as numbers
  const each = (f) => Array.from(eigenvalues, f);
  const counts = each((lambda) => countOf(lambda, noise, start, accuracy));
  const rules = each((lambda) => ruleOf(lambda, noise, start, accuracy));
  const last = roundUp(1.12 * Math.max(...counts, ...rules, 10)), top = Math.abs(start ** 2 - 1);
  const ends = each((lambda) => endOf(lambda, noise)), lengths = each((v) => lengthsOf(v, noise, start, last));
  const errors = lengths.map((l, k) => l.map((v) => Math.max(Math.abs((v / ends[k]) ** 2 - 1), floor)));
  const high = 10 ** Math.ceil(Math.log10(1.2 * Math.max(top, 2 * accuracy)) - 1e-12);
  return { counts, rules, last, ends, lengths, errors, top, limits: [accuracy, high] };
}
export const times = (v) => v.toFixed(v < 10 ? 2 : 0);
export function saysOf(t, accuracy, { counts, rules, ends, lengths }) {
  const [one, two] = lengths.map((l, k) => times(l[t] / ends[k])), [a, b] = rules.map((v) => Math.floor(v + 0.5));
  const near = `Within ${100 * accuracy} % after ${counts[0]} and ${counts[1]} steps; the rule says ${a} and ${b}`;
  return `${t} steps: lengths ${one} and ${two} times their ends. ${near}.`;
}

export default function make(data, opening) {
  const now = { ...data.opening }, [plane, curve] = opening.panels, [low, high] = data.noises;
  const percent = (v) => `${100 * v} %`, number = (v) => String(parseFloat(v.toPrecision(2)));
  let last = 0, end = 0; // of the axis, and the larger of the two counts
  const go = (t) => now.t = clamp(Math.round(t), 0, last);
  const slider = (label, name, min, max) => ({
    ...{ label, min: Math.log10(min), max: Math.log10(max), step: 0.02 },
    get: () => Math.log10(now[name]),
    set: (v) => now[name] = clamp(10 ** v, min, max),
    text: () => number(now[name]),
  });
  return {
    point: (_, u) => go(u),
    arrow: (_, across, up) => go(now.t + across + 10 * up),
    key(_, name) {
      if (name !== "Home" && name !== "End") return false;
      go(name === "Home" ? 0 : end);
      return true;
    },
    controls: [
      slider("start / end", "start", ...data.starts),
      slider("noise σ²", "noise", low, high),
      {
        ...{ label: "near enough", options: data.accuracies.map(percent) },
        get: () => percent(now.accuracy),
        set: (v) => now.accuracy = data.accuracies.find((a) => percent(a) === v),
      },
      { label: "One step", set: () => go(now.t + 1), unused: () => now.t < last ? "" : "the axis ends here" },
      { label: "Back to 0", set: () => go(0), unused: () => now.t ? "" : "no step has been made" },
    ],
    scene(width) {
      const drawn = picture(now, data), narrow = width < 520;
      [last, end] = [drawn.last, Math.max(...drawn.counts)];
      go(now.t);
      const { t } = now, { ends, lengths, errors, counts, rules, limits } = drawn, [l1, l2] = lengths.map((l) => l[t]);
      const side = 1.25 * Math.max(l1, ends[0]), every = Math.max(1, Math.floor(last / data.drawn));
      const kept = Array.from({ length: Math.floor(last / every) + 1 }, (_, k) => k * every);
      const first = changed(plane, {
        end: { factors: Float64Array.of(ends[0], 0, 0, ends[1]) },
        now: { factors: Float64Array.of(l1, 0, 0, l2) },
        "length 1": { x: [0, l1] },
        "length 2": { y: [0, l2] },
      });
      const marks = { near: { y: [2 * now.accuracy], label: `l within ${percent(now.accuracy)}` }, now: { x: [t] } };
      errors.forEach((e, k) => {
        const slope = 2 * now.noise / data.eigenvalues[k];
        marks[`rule ${k + 1}`] = { x: [0, last], y: [drawn.top, drawn.top * Math.exp(-slope * last)] };
        marks[`axis ${k + 1}`] = { x: kept, y: kept.map((s) => e[s]) };
        marks[`predicted ${k + 1}`] = { x: [rules[k]] };
        marks[`count ${k + 1}`] = { x: [counts[k]], y: [e[counts[k]]] };
        marks[`point ${k + 1}`] = { x: [t], y: [Math.max(e[t], limits[0])] };
      });
      const second = changed(curve, marks), within = (axis) => ({ ...axis, limits: [-side, side] });
      const how = "Right and left arrow make one step or undo it, up and down ten; Home and End go to start and end.";
      return {
        panels: [
          {
            ...{ ...first, x: within(plane.x), y: within(plane.y), title: `the two lengths after ${t} steps` },
            aspect: narrow ? 0.7 : undefined,
          },
          {
            ...second,
            ...{ how, aspect: narrow ? 0.8 : undefined },
            x: { ...curve.x, limits: [0, last] },
            y: { ...curve.y, limits },
          },
        ],
        says: saysOf(t, now.accuracy, drawn),
        least: narrow ? 200 : 100,
      };
    },
  };
}
