// Kernels and Gaussian processes for living figures: the formulas of gplvm_edu.kernels, tested against them.
// A kernel is what `kernel_spec` of figure.py makes: {kind: "rbf", variance: 1, inverse_width: [2]}, sums with parts.
// Points lie one after another in a flat array, q numbers each; matrices row after row.

function scaled(gamma, x, z) { // s = sum_q gamma_q (x_q - z_q)^2
  let s = 0;
  for (let q = 0; q < x.length; q++) s += gamma[q % gamma.length] * (x[q] - z[q]) ** 2;
  return s;
}
function inner(weights, x, z) {
  let s = 0;
  for (let q = 0; q < x.length; q++) s += weights[q % weights.length] * x[q] * z[q];
  return s;
}
const KERNELS = {
  rbf: (k, x, z) => k.variance * Math.exp(-0.5 * scaled(k.inverse_width, x, z)), // (2.5)
  matern32(k, x, z) { // (2.16)
    const root = Math.sqrt(3 * scaled(k.inverse_width, x, z));
    return k.variance * (1 + root) * Math.exp(-root);
  },
  periodic(k, x, z) { // (2.17)
    const squares = x.reduce((s, v, q) => s + Math.sin(Math.PI * (v - z[q]) / k.period) ** 2, 0);
    return k.variance * Math.exp(-2 * k.inverse_width[0] * squares);
  },
  linear: (k, x, z) => inner(k.variance, x, z), // (2.2)
  mlp(k, x, z) { // (2.24)
    const lift = (a, b) => inner([k.weight_variance], a, b) + k.bias_variance;
    const a = lift(x, z) / Math.sqrt((lift(x, x) + 1) * (lift(z, z) + 1));
    return k.variance * Math.asin(Math.min(Math.max(a, -1), 1));
  },
  bias: (k) => k.variance, // (2.25)
  white: () => 0, // (2.26) between two sets; on a diagonal the noise is added by whoever needs it
  sum: (k, x, z) => k.parts.reduce((s, part) => s + covariance(part, x, z), 0), // (2.27)
  product: (k, x, z) => k.parts.reduce((s, part) => s * covariance(part, x, z), 1), // (2.28)
};
export const covariance = (kernel, x, z) => KERNELS[kernel.kind](kernel, x, z);
export function covariances(kernel, X, Z, q = 1) { // K (N, M) of two sets
  const N = X.length / q, M = Z.length / q, K = new Float64Array(N * M);
  const rows = Array.from({ length: M }, (_, m) => Z.slice(m * q, (m + 1) * q));
  for (let n = 0; n < N; n++) {
    const x = X === Z ? rows[n] : X.slice(n * q, (n + 1) * q), end = X === Z ? n + 1 : M; // a symmetric one: half of it
    for (let m = 0; m < end; m++) K[n * M + m] = covariance(kernel, x, rows[m]);
    if (X === Z) { for (let m = 0; m < n; m++) K[m * M + n] = K[n * M + m]; }
  }
  return K;
}

// ---------------------------------------------------------------- linear algebra
export function cholesky(K, N, extra = 0) { // the lower factor L of K + extra I, (A.8)
  const L = new Float64Array(N * N);
  for (let i = 0; i < N; i++) {
    for (let j = 0; j <= i; j++) {
      let s = K[i * N + j] + (i === j ? extra : 0);
      for (let k = 0; k < j; k++) s -= L[i * N + k] * L[j * N + k];
      if (i === j && !(s > 0)) throw new Error(`row ${i} of the matrix makes it no covariance: ${s}`);
      L[i * N + j] = i === j ? Math.sqrt(s) : s / L[j * N + j];
    }
  }
  return L;
}
export function solveLower(L, b) { // L^-1 b
  const N = b.length, v = Float64Array.from(b);
  for (let i = 0; i < N; i++) {
    for (let k = 0; k < i; k++) v[i] -= L[i * N + k] * v[k];
    v[i] /= L[i * N + i];
  }
  return v;
}
export function dot(a, b) {
  let s = 0;
  for (let k = 0; k < a.length; k++) s += a[k] * b[k];
  return s;
}

export function tridiagonal(K, N, y) { // K = Q T Q': the diagonals of T, and Q'y, by Householder's reflections
  const A = Float64Array.from(K), z = Float64Array.from(y), v = new Float64Array(N), p = new Float64Array(N);
  for (let k = 0; k < N - 2; k++) {
    let norm = 0;
    for (let i = k + 1; i < N; i++) norm += (v[i] = A[i * N + k]) ** 2;
    const below = norm - v[k + 1] ** 2;
    if (!(below > 0)) continue;
    v[k + 1] += Math.sign(v[k + 1] || 1) * Math.sqrt(norm);
    const scale = 2 / (below + v[k + 1] ** 2); // the reflection is I - scale v v'
    let vp = 0, vz = 0;
    for (let i = k; i < N; i++) { // p = scale A v
      let s = 0;
      for (let j = k + 1; j < N; j++) s += A[i * N + j] * v[j];
      p[i] = scale * s;
      if (i > k) (vp += v[i] * p[i], vz += v[i] * z[i]);
    }
    for (let i = k + 1; i < N; i++) {
      p[i] -= 0.5 * scale * vp * v[i];
      z[i] -= scale * vz * v[i];
    }
    A[k * N + k + 1] = A[(k + 1) * N + k] -= p[k] * v[k + 1];
    for (let i = k + 1; i < N; i++) {
      for (let j = k + 1; j <= i; j++) A[j * N + i] = A[i * N + j] -= v[i] * p[j] + p[i] * v[j];
    }
  }
  const along = Float64Array.from(z, (_, i) => A[i * N + i]);
  return { along, beside: Float64Array.from(z, (_, i) => i ? A[i * N + i - 1] : 0), z };
}

// ---------------------------------------------------------------- what chapter 2 derives
export function posterior(kernel, x, y, grid, noise) { // mean (M,) and covariance (M, M): (2.7), (2.8)
  const N = x.length, M = grid.length, L = cholesky(covariances(kernel, x, x), N, noise);
  const known = covariances(kernel, grid, x), half = solveLower(L, y), prior = covariances(kernel, grid, grid);
  const V = Array.from({ length: M }, (_, m) => solveLower(L, known.subarray(m * N, (m + 1) * N)));
  const mean = Float64Array.from(V, (v) => dot(v, half));
  for (let m = 0; m < M; m++) {
    for (let l = 0; l <= m; l++) prior[l * M + m] = prior[m * M + l] -= dot(V[m], V[l]);
  }
  return { mean, covariance: prior };
}
export function evidence(kernel, x, y, noise) { // the three terms of (2.10), and their sum
  const N = x.length, L = cholesky(covariances(kernel, x, x), N, noise), half = solveLower(L, y);
  let volume = 0;
  for (let i = 0; i < N; i++) volume -= Math.log(L[i * N + i]);
  const terms = [-0.5 * dot(half, half), volume, -0.5 * N * Math.log(2 * Math.PI)];
  return [...terms, terms[0] + terms[1] + terms[2]];
}
export function surface(kernels, x, y, noises) { // the sum for each noise variance (a row) and kernel (a column)
  const values = new Float64Array(noises.length * kernels.length);
  if (!x.length) return values;
  kernels.forEach((kernel, column) => {
    const T = tridiagonal(covariances(kernel, x, x), x.length, y); // once: adding noise leaves it tridiagonal
    noises.forEach((noise, row) => values[row * kernels.length + column] = logDensityOf(T, noise));
  });
  return values;
}
function logDensityOf({ along, beside, z }, noise) { // (2.10) for T + noise I = L D L', in as many steps as data
  let total = -0.5 * z.length * Math.log(2 * Math.PI), d = 1, w = 0;
  for (let i = 0; i < z.length; i++) {
    const l = i ? beside[i] / d : 0;
    d = along[i] + noise - l * beside[i];
    w = z[i] - l * w;
    total -= 0.5 * (w * w / d + Math.log(d));
  }
  return total;
}
export function summits(surface, n) { // [row, column] above all eight neighbours, moved by a parabola each way
  const top = (a, b, c) => 0.5 * (a - c) / (a - 2 * b + c), found = [];
  for (let i = 1; i < n - 1; i++) {
    for (let j = 1; j < n - 1; j++) {
      const at = (a, b) => surface[(i + a) * n + j + b], around = [-1, 0, 1];
      const above = around.every((a) => around.every((b) => (!a && !b) || at(0, 0) > at(a, b)));
      if (above) found.push([i + top(at(-1, 0), at(0, 0), at(1, 0)), j + top(at(0, -1), at(0, 0), at(0, 1))]);
    }
  }
  return found;
}
export function draws(mean, covariance, normals, jitter) { // mean + L e for each column of normals (M, n): (2.4)
  const M = mean.length, n = normals.length / M, L = cholesky(covariance, M, jitter);
  return Array.from({ length: n }, (_, k) => {
    const e = Float64Array.from(mean, (_, m) => normals[m * n + k]);
    return mean.map((value, m) => value + dot(L.subarray(m * M, m * M + m + 1), e));
  });
}
