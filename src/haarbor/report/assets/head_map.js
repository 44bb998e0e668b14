// Layer x head grid in the colours of a score, with a legend that says what the score means.
(() => {
  const { el } = Haarbor;
  const ORDERS = [["grid", "by layer and head"], ["layer", "by score in each layer"], ["score", "by score, all heads"], ["tree", "in tree order"]];

  const legend = (run) => {
    const bar = el("div", { class: "legend-bar" });
    const ticks = el("div", { class: "legend-ticks" });
    const meaning = el("p", { class: "meaning" });
    const words = el("p", { class: "note" });
    run.state.on(["score", "palette", "scaleBy"], () => {
      const score = run.score(), values = score.values.filter((v) => v !== null).sort((a, b) => a - b);
      const at = (share) => run.state.get("scaleBy") === "ranks"
        ? values[Math.round(share * (values.length - 1))] : values[0] + share * (values[values.length - 1] - values[0]);
      bar.style.background = Haarbor.gradient(run.state.get("palette"));
      ticks.replaceChildren(...[0, 0.25, 0.5, 0.75, 1].map((share) => el("span", {}, Haarbor.number(at(share)))));
      meaning.replaceChildren(el("strong", {}, `${score.label}. `), score.meaning);
      words.replaceChildren(el("span", {}, "Low: ", score.low, ". "), el("span", {}, "High: ", score.high, "."));
    });
    return el("div", { class: "legend" }, meaning, bar, ticks, words);
  };

  Haarbor.headMap = (run, side) => {
    const { state, data } = run;
    const grid = el("div", { class: "head-grid", role: "grid", "aria-label": "Heads, coloured by score" });
    const cells = run.names.map((name, head) => {
      const cell = el("button", { type: "button", class: "head", role: "gridcell", tabIndex: -1, "data-head": head, on: { ...run.reaction(head) } }, el("span", {}, name));
      cell.addEventListener("focus", () => state.set({ hovered: head }));
      cell.addEventListener("blur", () => state.set({ hovered: null }));
      return cell;
    });
    let mode = "grid", pictures = false, across = false, shownOrder = [];

    const ordered = (heads) => {
      const values = run.score().values;
      return [...heads].sort((a, b) => (values[b] ?? -Infinity) - (values[a] ?? -Infinity) || a - b);
    };
    const layout = () => {
      const width = grid.clientWidth, layers = data.layers, perLayer = data.heads_per_layer;
      across = mode !== "score" && mode !== "tree" && layers > perLayer && (width - 52) / layers >= 12.5;
      grid.replaceChildren();
      grid.classList.toggle("flow", mode === "score" || mode === "tree");
      if (mode === "score" || mode === "tree") {
        shownOrder = mode === "tree" ? data.geometry.order : ordered(cells.keys());
        grid.style.gridTemplateColumns = "";
        grid.append(...shownOrder.map((head) => cells[head]));
        return paint();
      }
      const rows = Array.from({ length: layers }, (_, layer) => {
        const heads = Array.from({ length: perLayer }, (_, h) => layer * perLayer + h);
        return mode === "layer" ? ordered(heads) : heads;
      });
      shownOrder = rows.flat();
      const label = (text, kind) => el("div", { class: `axis ${kind}`, "aria-hidden": "true" }, text);
      const headLabel = (h) => (mode === "grid" ? String(h) : `#${h + 1}`);
      if (across) {
        grid.style.gridTemplateColumns = `minmax(2.6rem, auto) repeat(${layers}, minmax(0, 1fr))`;
        grid.append(label("layer", "corner"), ...rows.map((_, layer) => label(String(layer), "top")));
        for (let h = 0; h < perLayer; h++) grid.append(label(h === 0 ? `head ${headLabel(h)}` : headLabel(h), "left"), ...rows.map((row) => cells[row[h]]));
      } else {
        grid.style.gridTemplateColumns = `minmax(2.6rem, auto) repeat(${perLayer}, minmax(0, 1fr))`;
        grid.append(label("head", "corner"), ...rows[0].map((_, h) => label(headLabel(h), "top")));
        rows.forEach((row, layer) => grid.append(label(layer === 0 ? "layer 0" : String(layer), "left"), ...row.map((head) => cells[head])));
      }
      paint();
    };
    const paint = () => {
      const shares = run.shares(), palette = state.get("palette"), score = run.score();
      cells.forEach((cell, head) => {
        cell.style.setProperty("--fill", Haarbor.colour(shares[head], palette));
        cell.style.setProperty("--text", Haarbor.inkOn(shares[head], palette));
        cell.setAttribute("aria-label", `${run.headWords(head)}: ${score.label} ${Haarbor.number(score.values[head])}`);
        if (pictures && !cell.querySelector("canvas")) cell.prepend(Haarbor.thumbnail(run, head, 40));
        if (!pictures && cell.querySelector("canvas")) cell.querySelector("canvas").remove();
      });
      grid.classList.toggle("pictures", pictures);
    };
    const neighbour = (head, key) => {
      const at = shownOrder.indexOf(head), perLayer = data.heads_per_layer;
      let columns = perLayer;
      if (grid.classList.contains("flow")) {
        const top = cells[shownOrder[0]].offsetTop;
        columns = Math.max(1, shownOrder.findIndex((h) => cells[h].offsetTop > top));
      }
      const step = { ArrowLeft: across ? -perLayer : -1, ArrowRight: across ? perLayer : 1, ArrowUp: across ? -1 : -columns, ArrowDown: across ? 1 : columns }[key];
      return step === undefined ? null : shownOrder[at + step] ?? null;
    };
    grid.addEventListener("keydown", (event) => {
      const head = Number(event.target.dataset.head);
      const next = neighbour(head, event.key);
      if (next !== null) { cells[next].focus(); event.preventDefault(); }
      if (event.key === " ") { run.toggle(head); event.preventDefault(); }
    });
    // Drawing over cells with the pointer pressed brushes them.
    let begun = null, drawn = null;
    grid.addEventListener("pointerdown", (event) => { const cell = event.target.closest(".head"); begun = cell && event.pointerType !== "touch" ? Number(cell.dataset.head) : null; drawn = null; });
    grid.addEventListener("pointerover", (event) => {
      const cell = event.target.closest(".head");
      if (begun === null || !cell || !(event.buttons & 1)) return;
      drawn = drawn || new Set([begun]);
      drawn.add(Number(cell.dataset.head));
      run.brush([...drawn]);
    });
    grid.addEventListener("click", (event) => { if (drawn && drawn.size > 1) { event.stopPropagation(); } begun = null; drawn = null; }, true);

    const controls = el("div", { class: "controls" },
      (() => {
        const control = Haarbor.select("Score", data.scores.map((s) => [s.name, s.label]), state.get("score"), (score) => state.set({ score }));
        control.querySelector("select").dataset.role = "score";
        state.on(["score"], (now) => { control.querySelector("select").value = now.score; });
        return control;
      })(),
      Haarbor.select("Order", ORDERS, mode, (value) => { mode = value; layout(); }),
      Haarbor.choice("Cells", [["colours", "Colours"], ["pictures", "Pictures"]], "colours", (value) => { pictures = value === "pictures"; paint(); }),
      Haarbor.select("Scale", [["values", "by value"], ["ranks", "by rank"]], "values", (scaleBy) => state.set({ scaleBy })),
      Haarbor.select("Palette", Haarbor.PALETTES.map((p) => [p, p]), "viridis", (palette) => state.set({ palette })),
      Haarbor.tableButton(run, "heads"));

    state.on(["score", "palette", "scaleBy"], () => { if (grid.isConnected) { if (mode === "grid") paint(); else layout(); } });
    let last = {};
    state.on(["hovered", "chosen", "brushed"], (now) => {
      const set = new Set(now.brushed);
      cells.forEach((cell, head) => {
        const kind = `${head === now.hovered ? "hovered " : ""}${head === now.chosen ? "chosen " : ""}${set.has(head) ? "brushed" : ""}`;
        if (last[head] !== kind) {
          last[head] = kind;
          cell.classList.toggle("hovered", head === now.hovered);
          cell.classList.toggle("chosen", head === now.chosen);
          cell.classList.toggle("brushed", set.has(head));
          cell.setAttribute("aria-selected", String(head === now.chosen));
          cell.tabIndex = head === now.chosen ? 0 : -1;
        }
      });
    });
    const byScore = (head) => data.scores.map((s) => s.values[head]);
    Haarbor.addTable(run, {
      name: "heads", title: "Heads: scores, diffusion coordinates and nearest head",
      columns: ["layer", "head", ...data.scores.map((s) => s.name), "diffusion_1", "diffusion_2", "diffusion_3", "place_in_tree_order", "nearest_layer", "nearest_head", "nearest_distance"],
      rows: () => run.names.map((_, head) => {
        const near = data.geometry.nearest[head][0], xyz = data.geometry.coordinates[head];
        return [run.layerOf(head), head % data.heads_per_layer, ...byScore(head), xyz[0], xyz[1], xyz[2], run.position[head],
          near === undefined ? null : run.layerOf(near), near === undefined ? null : near % data.heads_per_layer, data.geometry.nearest_distances[head][0]];
      }),
    });
    if (data.scores.some((s) => s.by_batch)) Haarbor.addTable(run, {
      name: "scores-by-batch", title: "Scores of every head on every batch",
      columns: ["batch", "layer", "head", ...data.scores.filter((s) => s.by_batch).map((s) => s.name)],
      rows: () => data.batches.flatMap((batch, b) => run.names.map((_, head) =>
        [batch, run.layerOf(head), head % data.heads_per_layer, ...data.scores.filter((s) => s.by_batch).map((s) => s.by_batch[b][head])])),
    });
    side.append(Haarbor.figure(run.id("head-map"), "Head map", null, controls,
      el("div", { class: "map-and-legend" }, grid, legend(run)),
      el("p", { class: "note keys" }, "Click a head to open it below. Shift-click, or draw over several, to compare them. Keys: arrows move, Enter opens, Space adds to the comparison.")));
    Haarbor.onWidth(grid, layout);
  };
})();
