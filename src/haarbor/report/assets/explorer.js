// One head in full: its matrix in both orders, on the picture or the text, its scales, batches and neighbours.
(() => {
  const { el } = Haarbor;

  const blockLabels = (labels, block) => {
    if (block === 1) return labels;
    const found = [];
    for (let i = 0; i < labels.length; i += block) found.push(Haarbor.tokenText(labels[i], 8) + (i + 1 < labels.length ? "\u2026" : ""));
    return found;
  };
  const borders = (folders, level, block) => {
    const row = folders[Math.min(level, folders.length - 1)] || [];
    let at = 0;
    return row.slice(0, -1).map((size) => (at += size) / block);
  };

  const matrices = (run, host) => {
    const { state } = run;
    const original = Haarbor.matrixView("Attention in the original order"), organised = Haarbor.matrixView("Attention in the organised order");
    const legend = el("div", { class: "legend slim" }, el("div", { class: "legend-bar" }), el("div", { class: "legend-ticks" }));
    const quality = el("p", { class: "note" });
    const level = Haarbor.select("Folder lines at level", [["0", "none"], ...Array.from({ length: Math.max(0, run.data.shown[0].folders.query.length - 1) }, (_, i) => [String(i + 1), String(i + 1)])], String(state.get("folderLevel")), (value) => state.set({ folderLevel: Number(value) }));
    const bright = Haarbor.choice("Brightest colour", [["usual", "Most entries"], ["largest", "Up to the largest"]], "usual", (value) => state.set({ bright: value }));
    host.append(el("div", { class: "controls" }, level, el("span", { class: "control" }, "Colours", bright)),
      el("div", { class: "pair" }, el("div", {}, el("h4", {}, "Original order"), original.node), el("div", {}, el("h4", {}, "Organised order"), organised.node)), legend, quality);
    const inverse = (order) => { const found = new Array(order.length); order.forEach((item, place) => { found[item] = place; }); return found; };
    let colours = null, coloursOf = null, request = 0;
    const show = async () => {
      const turn = ++request, place = state.get("place"), head = state.get("chosen"), shown = run.data.shown[place], block = shown.block;
      const [found, mask] = await Promise.all([Haarbor.headMatrix(run, place, head), Haarbor.maskOf(run, place)]);
      if (coloursOf !== place) {
        const picture = shown.grid && shown.picture && block === 1 ? await Haarbor.pictureOf(run, place) : null;
        colours = picture ? Haarbor.patchColours(picture, shown) : null;
        coloursOf = place;
      }
      if (turn !== request) return;
      const { query, key } = shown.orders, keys = shown.key_labels || shown.query_labels, power = shown.quantisation.power;
      const cut = state.get("bright") === "usual" && found.usual > found.least, top = cut ? found.usual : found.largest;
      const common = { rows: found.rows, columns: found.columns, largest: top, least: found.least, palette: state.get("palette"), root: power === 2 };
      original.show({ ...common, values: found.values, mask, rowLabels: blockLabels(shown.query_labels, block), columnLabels: blockLabels(keys, block), rowColours: colours, columnColours: colours });
      const moved = (items, order) => order.map((i) => items[i]);
      let organisedMask = null;
      if (mask) {
        organisedMask = new Uint8Array(mask.length);
        for (let r = 0, i = 0; r < found.rows; r++) for (let c = 0; c < found.columns; c++, i++) organisedMask[i] = mask[query[r] * found.columns + key[c]];
      }
      const at = state.get("folderLevel");
      organised.show({ ...common, values: found.organised, mask: organisedMask,
        rowLabels: blockLabels(moved(shown.query_labels, query), block), columnLabels: blockLabels(moved(keys, key), block),
        rowColours: colours && moved(colours, query), columnColours: colours && moved(colours, key),
        rowBorders: at ? borders(shown.folders.query, at, block) : [], columnBorders: at ? borders(shown.folders.key, at, block) : [] });
      legend.children[0].style.background = Haarbor.gradient(state.get("palette"));
      const tick = (share) => Haarbor.number(found.least + (top - found.least) * (power === 2 ? share * share : share));
      legend.children[1].replaceChildren(...[0, 0.25, 0.5, 0.75, 1].map((share) => el("span", {}, share === 1 && cut ? `${tick(1)} to ${Haarbor.number(found.largest)}` : tick(share))));
      quality.textContent = `${block > 1 ? `Each cell is the mean of ${block} x ${block} entries. ` : ""}Entries are kept in one byte; the largest error of any entry of this batch is ${Haarbor.number(shown.quantisation.largest_error, 2)}.`
        + (shown.masked ? " Grey entries are masked." : "") + (power === 2 ? " Colours follow the square root of the value." : "");
      const queryPlace = inverse(query), keyPlace = inverse(key);
      // A place is a token in the original order; both matrices show the same one.
      const point = (token) => {
        if (block > 1) return;
        original.point(token);
        organised.point(token && [queryPlace[token[0]], keyPlace[token[1]]]);
      };
      original.onPoint = point;
      organised.onPoint = (place2) => point(place2 && [query[place2[0]], key[place2[1]]]);
      original.onPick = (place2) => state.set({ query: place2[0] * block });
      organised.onPick = (place2) => { if (block === 1) state.set({ query: query[place2[0]] }); };
    };
    state.on(["chosen", "place", "palette", "folderLevel", "bright"], () => { const shown = show(); run.opened = run.opened || shown; });
  };

  const scales = (run) => {
    const { state } = run;
    const node = el("div", {}), bars = el("div", {}), canvas = el("canvas", { role: "img", "aria-label": "Sums of absolute Haar coefficients by level of the query tree and of the key tree" });
    node.append(el("div", { class: "pair scales" }, el("div", {}, el("p", { class: "note" }, "By size of the pieces, coarse to fine: this head (bars) and the mean of all heads (line)."), bars),
      el("div", {}, el("p", { class: "note" }, "By level of the query tree (down) and the key tree (across); \u00f8 is the constant."), canvas)));
    let found = null, mean = null, place = -1, cells = null;
    const load = async () => {
      if (place === state.get("place")) return;
      place = state.get("place");
      found = await Haarbor.scalesOf(run, place);
      mean = new Float64Array(found.octaves);
      for (let h = 0; h < run.nHeads; h++) { const row = found.byOctave(h), sum = row.reduce((a, b) => a + b, 0) || 1; row.forEach((v, i) => { mean[i] += v / sum / run.nHeads; }); }
    };
    const share = (row) => { const sum = row.reduce((a, b) => a + b, 0) || 1; return Array.from(row, (v) => v / sum); };
    let chart = null;
    const grid = () => {
      if (!found || !node.clientWidth) return;
      const [rows, columns] = found.levels, values = found.byLevel(state.get("chosen")), theme = Haarbor.theme();
      const width = Math.min(canvas.parentElement.clientWidth, 420), left = 26, top = 20, wide = (width - left) / columns, tall = Math.min(26, Math.max(16, wide));
      const context = Haarbor.sized(canvas, width, top + tall * rows);
      const most = Math.max(...Array.from(values).slice(1));
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      for (let r = 0; r < rows; r++) {
        context.fillStyle = theme.pale; context.textAlign = "right"; context.fillText(found.rowName(r), left - 5, top + tall * (r + 0.5));
        for (let c = 0; c < columns; c++) {
          const value = values[r * columns + c], s = Math.sqrt(Math.min(1, value / (most || 1)));
          context.fillStyle = Haarbor.colour(s, state.get("palette"));
          context.fillRect(left + c * wide, top + r * tall, wide - 1, tall - 1);
          if (wide > 34) { context.fillStyle = Haarbor.inkOn(s, state.get("palette")); context.textAlign = "center"; context.fillText(value < 1e-4 * most ? "0" : Haarbor.number(value, 2), left + (c + 0.5) * wide, top + tall * (r + 0.5)); }
        }
      }
      context.fillStyle = theme.pale; context.textAlign = "center";
      for (let c = 0; c < columns; c++) context.fillText(found.columnName(c), left + (c + 0.5) * wide, top / 2);
      cells = { left, top, wide, tall, rows, columns, values };
    };
    canvas.addEventListener("pointermove", (event) => {
      if (!cells) return;
      const box = canvas.getBoundingClientRect(), c = Math.floor((event.clientX - box.left - cells.left) / cells.wide), r = Math.floor((event.clientY - box.top - cells.top) / cells.tall);
      if (r < 0 || c < 0 || r >= cells.rows || c >= cells.columns) return Haarbor.tooltip.hide();
      Haarbor.tooltip.text(event, `query level ${found.rowName(r)}, key level ${found.columnName(c)}`, `sum of |coefficients|: ${Haarbor.number(cells.values[r * cells.columns + c])}`);
    });
    canvas.addEventListener("pointerleave", () => Haarbor.tooltip.hide());
    const draw = async () => {
      await load();
      grid();
      if (!chart) chart = Haarbor.chart(bars, (theme) => {
        const x = Array.from({ length: found.octaves }, (_, i) => (i === 0 ? "1/2 to 1" : `1/${2 ** (i + 1)}`));
        return {
          traces: [
            { x, y: share(found.byOctave(state.get("chosen"))), type: "bar", name: "this head", marker: { color: theme.accent }, hovertemplate: "pieces of %{x} of the matrix: %{y:.1%}<extra></extra>" },
            { x, y: Array.from(mean), type: "scatter", mode: "lines+markers", name: "all heads", line: { color: theme.mark, width: 2 }, marker: { size: 5 }, hovertemplate: "mean of all heads: %{y:.1%}<extra></extra>" },
          ],
          layout: { height: 250, yaxis: { title: { text: "share of |coefficients|" }, tickformat: ".0%" }, xaxis: { title: { text: "size of the pieces, as a share of the matrix" }, tickangle: -45, type: "category" } },
        };
      });
      else chart.redraw();
    };
    state.on(["chosen", "place", "palette"], draw);
    Haarbor.onWidth(node, grid);
    Haarbor.onTheme(grid);
    Haarbor.addTable(run, {
      name: "haar-scales", title: "Sums of absolute Haar coefficients of every head, by level of the two trees",
      columns: ["batch", "layer", "head", "query_level", "key_level", "sum_of_absolute_coefficients"],
      rows: async () => {
        const rows = [];
        for (let p = 0; p < run.data.shown.length; p++) {
          const s = await Haarbor.scalesOf(run, p), plain = (name) => (name === "\u00f8" ? "constant" : Number(name));
          for (let h = 0; h < run.nHeads; h++) s.byLevel(h).forEach((v, i) => rows.push([run.data.shown[p].batch, run.layerOf(h), h % run.data.heads_per_layer, plain(s.rowName(Math.floor(i / s.levels[1]))), plain(s.columnName(i % s.levels[1])), Number(v.toPrecision(6))]));
        }
        return rows;
      },
    });
    return node;
  };

  const overBatches = (run) => {
    const { state, data } = run, node = el("div", {});
    if (data.batches.length < 2) return null;
    const chart = Haarbor.chart(node, (theme) => {
      const score = run.score().by_batch ? run.score() : data.scores.find((s) => s.by_batch), head = state.get("chosen");
      const x = data.batches.map((b) => `${b}`), quantile = (q) => score.by_batch.map((row) => { const v = row.filter((w) => w !== null).sort((a, b) => a - b); return v[Math.round(q * (v.length - 1))]; });
      return {
        traces: [
          { x, y: quantile(0.9), mode: "lines", type: "scatter", line: { width: 0 }, hoverinfo: "skip" },
          { x, y: quantile(0.1), mode: "lines", type: "scatter", fill: "tonexty", fillcolor: "rgba(127,140,150,0.22)", line: { width: 0 }, hoverinfo: "skip" },
          { x, y: quantile(0.5), mode: "lines", type: "scatter", line: { color: theme.pale, width: 1.5, dash: "dot" }, hovertemplate: "median of all heads: %{y:.4g}<extra></extra>" },
          { x, y: score.by_batch.map((row) => row[head]), mode: "lines+markers", type: "scatter", line: { color: theme.mark, width: 2.5 }, marker: { size: 7 }, hovertemplate: `batch %{x}: %{y:.4g}<extra>${run.names[head]}</extra>` },
        ],
        layout: { height: 250, xaxis: { title: { text: "batch" }, type: "category" }, yaxis: { title: { text: score.label } } },
      };
    });
    state.on(["chosen", "score"], () => chart.redraw());
    return node;
  };

  const neighbours = (run) => {
    const node = el("ol", { class: "neighbours" });
    run.state.on(["chosen", "place", "palette"], (now) => {
      const { nearest, nearest_distances: distances } = run.data.geometry, head = now.chosen;
      node.replaceChildren(...nearest[head].map((other, i) => el("li", {}, el("button", { type: "button", class: "neighbour", "data-head": other, "aria-label": `Head ${run.names[other]}: open it`, on: run.reaction(other) },
        Haarbor.thumbnail(run, other, 64), el("strong", {}, run.names[other]), el("span", { class: "pale" }, Haarbor.number(distances[head][i]))))));
    });
    return node;
  };

  Haarbor.explorer = (run, side) => {
    const { state, data } = run;
    const title = el("h3", { tabIndex: -1 }), facts = el("dl", { class: "facts" }), thumbnail = el("div", { class: "portrait" });
    const step = (by) => run.choose((state.get("chosen") + by + run.nHeads) % run.nHeads);
    const batches = data.shown.length > 1 ? Haarbor.select("Batch", data.shown.map((s, i) => [String(i), String(s.batch)]), "0", (value) => state.set({ place: Number(value), query: null })) : null;
    const head = el("div", { class: "explorer-head" }, thumbnail,
      el("div", { class: "grow" }, title, facts),
      el("div", { class: "controls" }, Haarbor.button("\u2190", () => step(-1), { "aria-label": "Previous head" }), Haarbor.button("\u2192", () => step(1), { "aria-label": "Next head" }),
        Haarbor.button("Compare", () => run.toggle(state.get("chosen")), { title: "Add this head to the comparison, or take it out" }), batches));
    state.on(["chosen", "score", "place", "palette"], (now) => {
      title.replaceChildren(`Head ${run.names[now.chosen]} `, el("span", { class: "pale" }, run.headWords(now.chosen), data.head_groups ? `, key-value head ${data.head_groups[now.chosen % data.heads_per_layer]}` : ""));
      thumbnail.replaceChildren(Haarbor.thumbnail(run, now.chosen, 72));
      facts.replaceChildren(...data.scores.map((score) => {
        const value = score.values[now.chosen], rank = score.values.filter((v) => v !== null && v > value).length + 1;
        return el("div", { class: score.name === now.score ? "current" : null, title: score.meaning }, el("dt", {}, score.label), el("dd", {}, Haarbor.number(value), el("small", {}, ` #${rank}`)));
      }));
    });
    const matrixHost = el("div", {});
    const onInput = data.shown.some((s) => s.grid && s.picture && s.block === 1) ? Haarbor.attentionImage(run)
      : data.labels === "tokens" && data.shown[0].block === 1 ? Haarbor.attentionText(run) : null;
    if (onInput) state.on(["chosen", "place"], async () => {
      const place = state.get("place"), found = await Haarbor.headMatrix(run, place, state.get("chosen"));
      onInput.show(place, found);
    });
    const batchChart = overBatches(run);
    Haarbor.put(side, el("div", { class: "card explorer", id: run.id("explorer-card") }, head, matrixHost),
      onInput ? Haarbor.figure(run.id("on-input"), data.shown[0].grid ? "Attention on the picture" : "Attention on the text", null, onInput.node) : null,
      Haarbor.figure(run.id("haar-scales"), "Haar coefficients by scale", null, el("div", { class: "controls" }, Haarbor.tableButton(run, "haar-scales")), scales(run)),
      el("div", { class: "two" },
        batchChart ? Haarbor.figure(run.id("over-batches"), "Over batches", "This head (line), the median of all heads (dotted) and the middle 80 % (band).", el("div", { class: "controls" }, Haarbor.tableButton(run, "scores-by-batch")), batchChart) : null,
        Haarbor.figure(run.id("nearest"), "Nearest heads", "By tree distance over all batches, nearest first.", neighbours(run))));
    matrices(run, matrixHost);
    let first = true;
    // Opening a head from afar brings its pictures into view.
    state.on(["chosen"], () => { if (!first) head.classList.remove("flash"), void head.offsetWidth, head.classList.add("flash"); first = false; });
  };
})();
