// How alike every two heads are, in the order of the tree, on a canvas.
(() => {
  const { el } = Haarbor;
  Haarbor.affinity = (run, side) => {
    const { state, data } = run, n = run.nHeads, order = data.geometry.order;
    const canvas = el("canvas", { tabIndex: 0, role: "img", "aria-label": "Affinity of every two heads, in tree order; arrow keys move, Enter opens the head of the row" });
    const spoken = el("p", { class: "note spoken", "aria-live": "polite" });
    const host = el("div", { class: "square" }, canvas);
    const STRIP = 10, GAP = 3;
    let values = null, picture = null, cursor = null, edge = 0;
    const layerShare = (head) => (data.layers > 1 ? run.layerOf(head) / (data.layers - 1) : 0.5);
    const paint = () => {
      picture = el("canvas", { width: n, height: n });
      const context = picture.getContext("2d"), image = context.createImageData(n, n), rgb = Haarbor.palette(state.get("palette"));
      // A head is fully like itself: the scale ends at the most alike pair of different heads.
      let least = Infinity, most = -Infinity;
      values.forEach((value, i) => { least = Math.min(least, value); if (i % (n + 1) !== 0) most = Math.max(most, value); });
      for (let r = 0, i = 0; r < n; r++) for (let c = 0; c < n; c++, i += 4) {
        const q = 3 * Math.max(0, Math.min(255, Math.round((255 * (values[order[r] * n + order[c]] - least)) / (most - least || 1))));
        image.data[i] = rgb[q]; image.data[i + 1] = rgb[q + 1]; image.data[i + 2] = rgb[q + 2]; image.data[i + 3] = 255;
      }
      context.putImageData(image, 0, 0);
    };
    const draw = () => {
      if (!picture) return;
      const width = Math.min(host.clientWidth, 460), theme = Haarbor.theme();
      edge = width - STRIP - GAP;
      const context = Haarbor.sized(canvas, width, width), cell = edge / n, zero = STRIP + GAP;
      context.clearRect(0, 0, width, width);
      context.imageSmoothingEnabled = cell < 1;
      context.drawImage(picture, zero, zero, edge, edge);
      order.forEach((head, place) => {
        context.fillStyle = Haarbor.colour(layerShare(head), "cividis");
        context.fillRect(0, zero + place * cell, STRIP, cell + 0.5);
        context.fillRect(zero + place * cell, 0, cell + 0.5, STRIP);
      });
      const bar = (head, colour, thick) => {
        const at = zero + run.position[head] * cell;
        context.strokeStyle = colour;
        context.lineWidth = thick;
        context.strokeRect(zero, at - 0.5, edge, Math.max(2, cell) + 1);
        context.strokeRect(at - 0.5, zero, Math.max(2, cell) + 1, edge);
      };
      context.fillStyle = theme.second;
      for (const head of state.get("brushed")) { context.fillRect(STRIP, zero + run.position[head] * cell, GAP, Math.max(1, cell)); context.fillRect(zero + run.position[head] * cell, STRIP, Math.max(1, cell), GAP); }
      bar(state.get("chosen"), theme.mark, 1.5);
      if (state.get("hovered") !== null) bar(state.get("hovered"), "#fff", 1.5);
      if (cursor) { context.strokeStyle = theme.mark; context.lineWidth = 2; context.strokeRect(zero + cursor[1] * cell - 1, zero + cursor[0] * cell - 1, cell + 2, cell + 2); }
    };
    const at = (event) => {
      const box = canvas.getBoundingClientRect(), cell = edge / n;
      const row = Math.floor((event.clientY - box.top - STRIP - GAP) / cell), column = Math.floor((event.clientX - box.left - STRIP - GAP) / cell);
      return row >= 0 && row < n && column >= 0 && column < n ? [row, column] : null;
    };
    const words = ([row, column]) => `${run.names[order[row]]} and ${run.names[order[column]]}: affinity ${Haarbor.number(values[order[row] * n + order[column]])}`;
    canvas.addEventListener("pointermove", (event) => {
      const place = values && at(event);
      if (!place) { state.set({ hovered: null }); Haarbor.tooltip.hide(); return; }
      state.set({ hovered: order[place[0]] });
      Haarbor.tooltip.text(event, words(place));
    });
    canvas.addEventListener("pointerleave", () => { state.set({ hovered: null }); Haarbor.tooltip.hide(); });
    canvas.addEventListener("click", (event) => {
      const place = values && at(event);
      if (!place) return;
      if (event.shiftKey) run.brush([...state.get("brushed"), order[place[0]], order[place[1]]]);
      else run.choose(order[place[0]]);
    });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      cursor = cursor || [run.position[state.get("chosen")], run.position[state.get("chosen")]];
      if (step) cursor = cursor.map((v, k) => Math.max(0, Math.min(n - 1, v + step[k])));
      else if (event.key === "Enter") run.choose(order[cursor[0]]);
      else return;
      event.preventDefault();
      spoken.textContent = words(cursor);
      draw();
    });
    canvas.addEventListener("blur", () => { cursor = null; spoken.textContent = ""; draw(); });
    run.blob("geometry-affinity").then((buffer) => { values = Haarbor.restored(buffer, n, n, 1); paint(); draw(); });
    state.on(["hovered", "chosen", "brushed"], () => requestAnimationFrame(draw));
    state.on(["palette"], () => { if (values) { paint(); draw(); } });
    Haarbor.onTheme(draw);
    Haarbor.onWidth(host, draw);
    const distances = async () => new Float32Array(await run.blob("geometry-distances"));
    run.distances = distances;
    Haarbor.addTable(run, {
      name: "head-distances", title: "Tree distances of every two heads, means over batches",
      columns: ["layer", "head", ...run.names],
      rows: async () => { const d = await distances(); return run.names.map((_, head) => [run.layerOf(head), head % data.heads_per_layer, ...Array.from(d.subarray(head * n, (head + 1) * n), (v) => Number(v.toPrecision(7)))]); },
    });
    side.append(Haarbor.figure(run.id("affinity"), "Affinity in tree order", "Bright: the two heads attend alike. The strips show the layer, from first (dark) to last (light).",
      el("div", { class: "controls" }, Haarbor.tableButton(run, "head-distances")), host, spoken));
  };
})();
