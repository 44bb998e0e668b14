// Attention of a vision network drawn on the picture it saw: from a patch, and to it.
(() => {
  const { el } = Haarbor;
  // Pixels of the picture of a batch as a canvas.
  Haarbor.pictureOf = async (run, place) => {
    const shown = run.data.shown[place];
    if (!shown.picture) return null;
    const [height, width] = shown.picture, bytes = new Uint8Array(await run.blob(`batch-${place}-picture`));
    const canvas = el("canvas", { width, height }), context = canvas.getContext("2d"), image = context.createImageData(width, height);
    for (let i = 0, at = 0; i < bytes.length; i += 3, at += 4) { image.data[at] = bytes[i]; image.data[at + 1] = bytes[i + 1]; image.data[at + 2] = bytes[i + 2]; image.data[at + 3] = 255; }
    context.putImageData(image, 0, 0);
    return canvas;
  };
  // Mean colour of every token's patch; none for tokens that are no patches.
  Haarbor.patchColours = (picture, shown) => {
    const { first, rows, columns } = shown.grid;
    const small = el("canvas", { width: columns, height: rows }), context = small.getContext("2d");
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, 0, 0, columns, rows);
    const pixels = context.getImageData(0, 0, columns, rows).data;
    const colours = new Array(first).fill(null);
    for (let i = 0; i < rows * columns; i++) colours.push(`rgb(${pixels[4 * i]},${pixels[4 * i + 1]},${pixels[4 * i + 2]})`);
    return colours;
  };

  Haarbor.attentionImage = (run) => {
    const { state } = run;
    const panel = (title) => {
      const canvas = el("canvas", { tabIndex: 0, role: "img", "aria-label": `${title}; arrow keys move from patch to patch` });
      return { canvas, node: el("div", { class: "on-image" }, el("h4", {}, title), canvas) };
    };
    const plain = panel("The picture"), from = panel("Where the patch looks"), to = panel("Who looks at the patch");
    const chips = el("div", { class: "controls" });
    const words = el("p", { class: "note", "aria-live": "polite" });
    const strength = el("input", { type: "range", min: 0, max: 100, value: 75, "aria-label": "Strength of the overlay", on: { input: () => draw() } });
    const node = el("div", { class: "attention-image" }, chips, el("div", { class: "triple" }, plain.node, from.node, to.node), words);
    let matrix = null, picture = null, shown = null, hovered = null;
    const current = () => hovered ?? state.get("query") ?? 0;
    const paint = ({ canvas }, weights, mark) => {
      const { first, rows, columns } = shown.grid;
      const width = Math.max(90, Math.min(380, canvas.parentElement.clientWidth)), height = (width * rows) / columns;
      const context = Haarbor.sized(canvas, width, height), alpha = strength.value / 100;
      context.imageSmoothingEnabled = true;
      context.drawImage(picture, 0, 0, width, height);
      if (weights) heat(context, weights, width, height, alpha);
      const wide = width / columns, tall = height / rows;
      if (mark >= first) {
        for (const [colour, thick] of [["#fff", 5], [Haarbor.css("--mark"), 2.5]]) {
          context.strokeStyle = colour;
          context.lineWidth = thick;
          context.strokeRect(((mark - first) % columns) * wide + 1, Math.floor((mark - first) / columns) * tall + 1, wide - 2, tall - 2);
        }
      }
    };
    const heat = (context, weights, width, height, alpha) => {
      const { first, rows, columns } = shown.grid;
      context.fillStyle = `rgba(0,0,0,${0.45 * alpha})`;
      context.fillRect(0, 0, width, height);
      let most = 0;
      for (let i = 0; i < rows * columns; i++) most = Math.max(most, weights(first + i));
      const rgb = Haarbor.palette(state.get("palette")), wide = width / columns, tall = height / rows;
      for (let i = 0; i < rows * columns; i++) {
        const share = most > 0 ? Math.sqrt(weights(first + i) / most) : 0, q = 3 * Math.round(255 * share);
        context.fillStyle = `rgba(${rgb[q]},${rgb[q + 1]},${rgb[q + 2]},${alpha * (0.15 + 0.85 * share)})`;
        context.fillRect((i % columns) * wide, Math.floor(i / columns) * tall, wide + 0.5, tall + 0.5);
      }
    };
    const draw = () => {
      if (!matrix || !picture || !node.clientWidth) return;
      const token = current(), n = matrix.columns;
      paint(plain, null, token);
      paint(from, (key) => matrix.values[token * n + key], token);
      paint(to, (query) => matrix.values[query * n + token], token);
      const label = shown.query_labels[token];
      words.replaceChildren(`${token < shown.grid.first ? "Token" : "Patch"} ${label}: to itself ${Haarbor.number(matrix.values[token * n + token])}`,
        ...shown.query_labels.slice(0, shown.grid.first).map((name, i) => ` \u00b7 to ${Haarbor.tokenText(name)} ${Haarbor.number(matrix.values[token * n + i])}`));
      for (const chip of chips.querySelectorAll("button")) chip.setAttribute("aria-pressed", String(Number(chip.dataset.token) === token));
    };
    for (const { canvas } of [plain, from, to]) {
      const patch = (event) => {
        const { first, rows, columns } = shown.grid, box = canvas.getBoundingClientRect();
        const column = Math.floor(((event.clientX - box.left) / box.width) * columns), row = Math.floor(((event.clientY - box.top) / box.height) * rows);
        return column >= 0 && row >= 0 && column < columns && row < rows ? first + row * columns + column : null;
      };
      canvas.addEventListener("pointermove", (event) => { hovered = patch(event); draw(); });
      canvas.addEventListener("pointerleave", () => { hovered = null; draw(); });
      canvas.addEventListener("click", (event) => state.set({ query: patch(event) }));
      canvas.addEventListener("keydown", (event) => {
        const { first, rows, columns } = shown.grid;
        const step = { ArrowUp: -columns, ArrowDown: columns, ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const now = state.get("query") ?? first - step;
        state.set({ query: Math.max(0, Math.min(first + rows * columns - 1, now + step)) });
      });
    }
    state.on(["query", "palette"], draw);
    Haarbor.onWidth(node, draw);
    return {
      node,
      async show(place, found) {
        shown = run.data.shown[place];
        matrix = found;
        picture = await Haarbor.pictureOf(run, place);
        chips.replaceChildren(...shown.query_labels.slice(0, shown.grid.first).map((name, i) => Haarbor.button(Haarbor.tokenText(name), () => state.set({ query: i }), { "data-token": i })),
          el("span", { class: "note" }, "Point at a patch, or pick a token without one."), el("label", { class: "control" }, "Overlay", strength));
        draw();
      },
    };
  };
})();
