// The page's half of latent_picture.py: it decodes a fitted GP-LVM wherever the reader points. Python writes the id.
(() => {
  const mount = (root) => {
    if (root.dataset.live) return;
    root.dataset.live = "yes";
    const data = JSON.parse(root.querySelector(".gplvm-arrays").textContent);
    const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
    const fixed = ([text, scale]) => Float64Array.from(new Int32Array(bytes(text)), (v) => v * scale);
    const X = fixed(data.X), A = fixed(data.A), mean = data.mean, D = mean.length, N = X.length / 2;
    const grid = new Uint16Array(bytes(data.deviations)), G = data.n_grid, limit = data.limit;
    const plane = root.querySelector(".gplvm-plane"), cross = root.querySelector(".gplvm-cross");
    const canvas = root.querySelector("canvas"), words = root.querySelector(".gplvm-words");
    const pen = canvas.getContext("2d"), ratio = 2, width = canvas.width / ratio, height = canvas.height / ratio;
    pen.scale(ratio, ratio);
    for (const part of root.querySelectorAll(".gplvm-only-live")) part.style.display = "";
    for (const part of root.querySelectorAll(".gplvm-only-still")) part.style.display = "none";
    let x = data.start.slice();

    function decode(x) { // (5.7): mean + k(x, X) A
      const out = Float64Array.from(mean);
      let best = Infinity, nearest = 0;
      for (let n = 0; n < N; n++) {
        const a = x[0] - X[2 * n], b = x[1] - X[2 * n + 1];
        const k = data.variance * Math.exp(-0.5 * (data.gamma[0] * a * a + data.gamma[1] * b * b)) + data.bias;
        for (let d = 0; d < D; d++) out[d] += k * A[n * D + d];
        if (a * a + b * b < best) {
          best = a * a + b * b;
          nearest = n;
        }
      }
      return [out, nearest];
    }
    function deviation(x) { // between the stored points of a grid
      const [u, v] = x.map((c) => Math.min(Math.max((c + limit) / (2 * limit), 0), 1) * (G - 1));
      const i = Math.min(Math.floor(u), G - 2), j = Math.min(Math.floor(v), G - 2), s = u - i, t = v - j;
      const at = (i, j) => grid[j * G + i] / 65535 * data.ignorance;
      return (1 - t) * ((1 - s) * at(i, j) + s * at(i + 1, j)) + t * ((1 - s) * at(i, j + 1) + s * at(i + 1, j + 1));
    }
    function drawImage(values, share) { // paler where the map knows less
      const [rows, columns] = data.image, size = Math.min(width / columns, height / rows);
      for (let d = 0; d < D; d++) {
        const ink = Math.min(Math.max(values[d] / data.high, 0), 1) * (1 - 0.7 * share);
        const grey = Math.round(255 * (1 - ink));
        pen.fillStyle = `rgb(${grey},${grey},${grey})`;
        pen.fillRect((d % columns) * size, Math.floor(d / columns) * size, size + 0.5, size + 0.5);
      }
    }
    function drawBars(values, sd) {
      const low = data.low, high = data.high, left = 6, step = (width - left) / D, floor = height - 16;
      const y = (v) => floor - (v - low) / (high - low) * (floor - 6);
      pen.font = "10px sans-serif";
      pen.textAlign = "center";
      pen.fillStyle = "#999";
      pen.fillRect(0, y(0), width, 1);
      for (let d = 0; d < D; d++) {
        const c = left + (d + 0.5) * step, top = y(values[d]), zero = y(0);
        pen.fillStyle = data.colours[0];
        pen.globalAlpha = 0.85;
        pen.fillRect(c - 0.32 * step, Math.min(top, zero), 0.64 * step, Math.max(Math.abs(top - zero), 1));
        pen.globalAlpha = 1;
        pen.strokeStyle = data.accent;
        pen.lineWidth = 2;
        pen.beginPath();
        pen.moveTo(c, y(values[d] - 2 * sd));
        pen.lineTo(c, y(values[d] + 2 * sd));
        pen.stroke();
        if (D <= 20) {
          pen.fillStyle = "#555";
          pen.fillText(String(d + 1), c, height - 3);
        }
      }
    }
    function paint() {
      const [values, nearest] = decode(x), sd = deviation(x), share = sd / data.ignorance;
      cross.style.left = 50 * (1 + x[0] / limit) + "%";
      cross.style.top = 50 * (1 - x[1] / limit) + "%";
      pen.clearRect(0, 0, width, height);
      if (data.image) drawImage(values, share);
      else drawBars(values, sd);
      const sure = share < 0.25
        ? "Sure: data all around."
        : share < 0.7
        ? "A guess between the data."
        : "No data here: back to the mean.";
      const name = data.names ? ` Nearest point: ${data.names[data.target[nearest]]}.` : "";
      words.textContent = `${sure} Deviation ${sd.toPrecision(2)}, ${Math.round(100 * share)} % of the prior's.${name}`;
      root.querySelector(".gplvm-sure").style.width = 100 * (1 - share) + "%";
      root.dataset.x = x.join(" ");
      root.dataset.values = Array.from(values).join(" ");
      root.dataset.deviation = sd;
    }
    function moveTo(place) {
      x = place.map((c) => Math.min(Math.max(c, -limit), limit));
      paint();
    }
    function follow(event) {
      const box = plane.getBoundingClientRect();
      moveTo([
        limit * (2 * (event.clientX - box.left) / box.width - 1),
        limit * (1 - 2 * (event.clientY - box.top) / box.height),
      ]);
    }
    plane.addEventListener("pointerdown", (event) => {
      plane.setPointerCapture(event.pointerId);
      follow(event);
    });
    plane.addEventListener("pointermove", (event) => {
      if (event.buttons) follow(event);
    });
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
    plane.addEventListener("keydown", (event) => {
      const step = arrows[event.key], size = limit / (event.shiftKey ? 10 : 50);
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      moveTo([x[0] + size * step[0], x[1] + size * step[1]]);
    });
    paint();
  };
  document.querySelectorAll('[id="GPLVM_ID"]').forEach(mount);
})();
