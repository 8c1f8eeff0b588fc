// The page's half of neighbour_graph.py: the graph of nearest neighbours, and the shortest path between two points.
import { changed, clamp } from "./marks.js";

const TIE = 1e-10; // as in gplvm_edu.proximity: distances that differ by a smaller share are equal
export const rowsOf = (flat, q) =>
  Array.from({ length: flat.length / q }, (_, n) => Array.from(flat.slice(n * q, n * q + q)));
export const distance = (a, b) => Math.sqrt(a.reduce((s, v, q) => s + (v - b[q]) ** 2, 0));

// ---------------------------------------------------------------- the graph
export function nearest(Y, most) { // of each row the nearest others, nearest first; of equal ones the first
  return Y.map((y, n) => {
    const d = Y.map((other) => distance(y, other)), others = Array.from(d.keys()).filter((m) => m !== n);
    const order = (a, b) => Math.abs(d[a] - d[b]) <= TIE * Math.max(d[a], d[b]) ? a - b : d[a] - d[b];
    return others.sort(order).slice(0, most);
  });
}
export function graphOf(Y, near, k) { // (6.15): edges [n, m], n < m, and for each row its neighbours with their lengths
  const N = Y.length, beside = Y.map(() => []), edges = [], known = new Set();
  near.forEach((row, n) =>
    row.slice(0, k).forEach((m) => {
      const [a, b] = n < m ? [n, m] : [m, n];
      if (known.has(a * N + b)) return;
      known.add(a * N + b);
      const length = distance(Y[a], Y[b]);
      edges.push([a, b]);
      beside[a].push([b, length]);
      beside[b].push([a, length]);
    })
  );
  return { edges, beside, mean: edges.reduce((s, [a, b]) => s + distance(Y[a], Y[b]), 0) / edges.length };
}
export function pieces({ beside }) { // how many
  const seen = new Uint8Array(beside.length);
  let count = 0;
  for (let n = 0; n < beside.length; n++) {
    if (seen[n]) continue;
    count++;
    const open = [n];
    seen[n] = 1;
    while (open.length) {
      for (const [m] of beside[open.pop()]) {
        if (!seen[m]) (open.push(m), seen[m] = 1);
      }
    }
  }
  return count;
}
export function dijkstra({ beside }, from) { // (6.16) from one point: lengths, and the point before on each path
  const N = beside.length, lengths = new Float64Array(N).fill(Infinity), before = new Int32Array(N).fill(-1);
  const done = new Uint8Array(N);
  lengths[from] = 0;
  for (let step = 0; step < N; step++) {
    let here = -1;
    for (let n = 0; n < N; n++) {
      if (!done[n] && lengths[n] < (here < 0 ? Infinity : lengths[here])) here = n;
    }
    if (here < 0) break; // the rest lies in other pieces
    done[here] = 1;
    for (const [m, length] of beside[here]) {
      if (lengths[here] + length < lengths[m]) [lengths[m], before[m]] = [lengths[here] + length, here];
    }
  }
  return { lengths, before };
}
export function pathTo(before, from, to) { // the points on the way; none where there is no way
  const path = [to];
  while (path[0] !== from && before[path[0]] >= 0) path.unshift(before[path[0]]);
  return path[0] === from ? path : [];
}
export function numbers({ from, to }, Y, sheet, graph) { // what `graph_numbers` of neighbour_graph.py computes
  const { lengths, before } = dijkstra(graph, from), path = pathTo(before, from, to);
  const steps = path.slice(1).map((m, i) => [path[i], m]), limit = (n, m) => Math.max(distance(Y[n], Y[m]), graph.mean);
  const jumps = steps.filter(([n, m]) => distance(sheet[n], sheet[m]) > 3 * limit(n, m));
  const along = distance(sheet[from], sheet[to]), length = lengths[to];
  return { edges: graph.edges, path, jumps, length, along, pieces: pieces(graph) };
}
export function saysOf(k, { path, jumps, length, along, pieces }) {
  const head = `k = ${k}, ${pieces === 1 ? "1 piece" : `${pieces} pieces`}: `,
    straight = `${along.toFixed(1)} straight along`;
  if (!path.length) return `${head}no path from one point to the other, ${straight} the sheet`;
  const n = path.length - 1, steps = `path ${length.toFixed(1)} in ${n} ${n === 1 ? "step" : "steps"}`;
  const ratio = along > 0 ? `, ratio ${(length / along).toFixed(2)}` : "";
  const layers = `${jumps.length || "no"} ${jumps.length === 1 ? "step jumps" : "steps jump"} between layers`;
  return `${head}${steps}, ${straight} the sheet${ratio}; ${layers}`;
}

// ---------------------------------------------------------------- the figure
export default function make(data, opening) {
  const [roll, flat, curve] = opening.panels, Y = rowsOf(data.rows, data.rows.length * 2 / data.sheet.length);
  const sheet = rowsOf(data.sheet, 2), near = nearest(Y, data.most), views = Object.keys(data.views);
  const now = { ...data.opening, view: views[0] }, known = new Map();
  const pages = Object.fromEntries(views.map((view) => {
    const V = rowsOf(data.views[view], 2);
    return [view, Y.map((y) => [0, 1].map((side) => y.reduce((s, v, q) => s + v * V[q][side], 0)))];
  }));
  let chosen = 1, held = -1;
  const ends = () => [now.from, now.to], place = (panel) => panel === "sheet" ? sheet : pages[now.view];
  const setEnd = (end, n) => now[end ? "to" : "from"] = n;
  function closest(points, u, v) {
    let best = 0;
    const far = (n) => Math.hypot(points[n][0] - u, points[n][1] - v);
    for (let n = 1; n < points.length; n++) if (far(n) < far(best)) best = n;
    return best;
  }
  function point(panel, u, v, phase) { // the end that is nearer follows the hand
    if (panel === "curve") return phase !== "up" && (now.k = clamp(Math.round(u), 1, data.most));
    if (phase === "up") return held = -1;
    const points = place(panel);
    if (phase === "down") chosen = held = closest(ends().map((n) => points[n]), u, v);
    if (held >= 0) setEnd(held, closest(points, u, v));
  }
  function arrow(panel, right, up) { // to the nearest point that way, in this panel; a long step is five of them
    if (panel === "curve") return now.k = clamp(now.k + Math.sign(right + up), 1, data.most);
    const points = place(panel), size = Math.max(Math.abs(right), Math.abs(up));
    for (let step = 0; step < size; step++) {
      const here = points[ends()[chosen]];
      let best = -1, least = Infinity;
      points.forEach(([x, y], n) => {
        const ahead = (x - here[0]) * Math.sign(right) + (y - here[1]) * Math.sign(up);
        const aside = Math.abs((x - here[0]) * Math.sign(up)) + Math.abs((y - here[1]) * Math.sign(right));
        if (ahead > 1e-9 && ahead >= aside && ahead + aside < least) [best, least] = [n, ahead + aside];
      });
      if (best >= 0) setEnd(chosen, best);
    }
  }
  function key(panel, name) {
    if (name !== " " || panel === "curve") return false;
    chosen = 1 - chosen;
    return true;
  }
  const longest = () => [0, 1].map((side) => data.longest_ends[2 * (now.k - 1) + side]);
  const isLongest = () => String([...ends()].sort()) === String(longest().sort());
  const of = (points, which) => ({ x: which.map((n) => points[n][0]), y: which.map((n) => points[n][1]) });
  function joined(points, pairs) {
    const side = (q) => pairs.flatMap(([n, m]) => [points[n][q], points[m][q], NaN]);
    return { x: side(0), y: side(1) };
  }
  function once(name, compute) { // for each k: the graph, and its edges in each view
    const of = `${name} ${now.k}`;
    if (!known.has(of)) known.set(of, compute());
    return known.get(of);
  }
  const drawnOn = (points, { edges, path, jumps }, name) => ({
    edges: once(name, () => joined(points, edges)),
    points: of(points, Array.from(points.keys())),
    path: of(points, path),
    jumps: joined(points, jumps),
    ends: of(points, ends()),
    chosen: of(points, [ends()[chosen]]),
  });
  function room(points) {
    const side = (q) => {
      const v = points.map((p) => p[q]), low = Math.min(...v), high = Math.max(...v), free = 0.05 * (high - low);
      return { limits: [low - free, high + free], hidden: true };
    };
    return { x: side(0), y: side(1) };
  }
  const rooms = Object.fromEntries(views.map((view) => [view, room(pages[view])]));
  return {
    point,
    arrow,
    key,
    controls: [
      { label: "neighbours k", min: 1, max: data.most, step: 1, get: () => now.k, set: (v) => now.k = v },
      { label: "seen", options: views, get: () => now.view, set: (v) => now.view = v },
      {
        label: "Ends of the longest geodesic",
        set: () => [now.from, now.to] = longest(),
        unused: () => isLongest() ? "these are its ends" : "",
      },
    ],
    scene(width) {
      const graph = once("graph", () => graphOf(Y, near, now.k)), drawn = numbers(now, Y, sheet, graph);
      const narrow = width < 560;
      const first = { ...changed(roll, drawnOn(pages[now.view], drawn, now.view)), ...rooms[now.view] };
      const straight = of(sheet, ends()), second = changed(flat, { ...drawnOn(sheet, drawn, "sheet"), straight });
      const third = changed(curve, { now: { x: [now.k], y: [data.longest[now.k - 1]] } });
      const how = "Arrow keys move the ringed end to the next point that way, Space takes the other end.";
      return {
        panels: [
          { ...first, how, span: narrow ? 12 : 5, rows: narrow ? 1 : 2, aspect: narrow ? 0.8 : 0.95 },
          { ...second, how, span: narrow ? 12 : 7, aspect: narrow ? 0.36 : 0.34 },
          { ...third, how: "Arrow keys change k.", span: narrow ? 12 : 7, aspect: narrow ? 0.42 : 0.3 },
        ],
        says: saysOf(now.k, drawn),
        least: 1,
      };
    },
  };
}
