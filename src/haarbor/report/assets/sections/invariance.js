// How nearly the softmax of every head is its logits, against shuffled controls.
(() => {
  const { el } = Haarbor;
  const FORMS = [["exact", "corrected form"], ["paper", "the paper\u2019s form"], ["invariance", "constants 1 (invariance)"], ["linear", "logits alone"]];
  Haarbor.sections = Haarbor.sections || {};
  Haarbor.sections.invariance = {
    title: "Softmax invariance",
    draw(run, side, found) {
      const { data, state } = run, scatter = el("div", {}), bars = el("div", {});
      const heads = [...run.names.keys()].filter((h) => found.figures.invariance[h] !== null);
      const spread = heads.map((h) => found.logit_deviation[h]);
      const chart = Haarbor.chart(scatter, (theme) => ({
        traces: [{ type: "scatter", mode: "markers", x: spread, y: heads.map((h) => found.figures.invariance[h]), text: heads.map((h) => run.names[h]),
          marker: { opacity: 1, size: heads.map((h) => (h === state.get("chosen") ? 14 : 8)), color: heads.map((h) => run.layerOf(h)), colorscale: "Cividis", showscale: data.layers > 1, colorbar: { title: { text: "layer" }, thickness: 10, outlinewidth: 0, tickfont: { color: theme.pale } },
            line: { width: heads.map((h) => (h === state.get("chosen") ? 3 : 0.6)), color: heads.map((h) => (h === state.get("chosen") ? theme.mark : theme.pale)) } },
          hovertemplate: "%{text}: spread %{x:.2f}, invariance %{y:.2f}<extra></extra>" }],
        layout: { height: 320, xaxis: { title: { text: "spread of the logits" }, rangemode: "tozero" }, yaxis: { title: { text: "softmax invariance" } } },
      }), (Plotly, node) => {
        node.on("plotly_click", (event) => run.choose(heads[event.points[0].pointIndex]));
        node.on("plotly_hover", (event) => state.set({ hovered: heads[event.points[0].pointIndex] }));
        node.on("plotly_unhover", () => state.set({ hovered: null }));
      });
      state.on(["chosen"], () => chart.redraw());
      const x = FORMS.map((form) => form[1]);
      const cut = (values) => values.map((v) => (v === null ? null : Math.max(-1, v)));
      Haarbor.chart(bars, (theme) => ({
        traces: [["organised", "organised trees", theme.accent], ["shuffled_trees", "shuffled trees", theme.pale], ["shuffled_rows", "shuffled logits", theme.mark]].map(([key, name, color]) => ({
          type: "bar", x, y: cut(found.medians[key]), customdata: found.medians[key], name, marker: { color }, hovertemplate: `${name}: %{customdata:.2f}<extra></extra>` })),
        layout: { height: 320, barmode: "group", showlegend: true, legend: { orientation: "h", y: 1.16, x: 0 }, yaxis: { title: { text: "softmax explained, median head" } }, xaxis: { type: "category", automargin: true } },
      }));
      Haarbor.addTable(run, { name: "softmax-invariance", title: "How much of the softmax of every head each form explains", columns: ["batch", "layer", "head", ...FORMS.map((form) => form[0]), "logit_deviation"],
        rows: () => run.names.map((_, h) => [found.batch, run.layerOf(h), h % data.heads_per_layer, ...FORMS.map((form) => found.figures[form[0]][h]), found.logit_deviation[h]]) });
      const strongest = Object.entries(found.correlations).filter((c) => c[1] !== null).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]))[0];
      Haarbor.put(side,
        el("p", { class: "lead" }, `On batch ${found.batch}, each head on trees of its own. 1 is all of the softmax, 0 no better than a uniform head.`,
          strongest ? ` Invariance goes most with the ${strongest[0]} (rank correlation ${Haarbor.number(strongest[1], 2)}).` : ""),
        el("div", { class: "two" },
          Haarbor.figure(run.id("invariance-heads"), "Heads: invariance and spread of the logits", "Every point is a head. Click one to open it.", el("div", { class: "controls" }, Haarbor.tableButton(run, "softmax-invariance")), scatter),
          Haarbor.figure(run.id("invariance-forms"), "What explains the softmax", "Medians over heads; bars below \u22121 are cut.", el("div", { class: "controls" }, Haarbor.tableButton(run, "softmax-invariance")), bars)));
    },
  };
})();
