// Haar entropy of the whole network, batch by batch.
(() => {
  const { el } = Haarbor;
  const VARIANTS = [["raw", "Haar entropy"], ["normalised", "normalised"], ["mean_removed", "without the mean"], ["energy_share", "energy share"], ["fine_share", "fine share"]];
  Haarbor.sections = Haarbor.sections || {};
  Haarbor.sections["network-entropy"] = {
    title: "Network entropy",
    draw(run, side, found) {
      const batches = run.data.batches.map(String), node = el("div", {});
      let shown = "normalised";
      const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
      const chart = Haarbor.chart(node, (theme) => ({
        traces: [{ type: "bar", x: batches, y: found[shown], marker: { color: theme.accent }, hovertemplate: "batch %{x}: %{y:.5g}<extra></extra>",
          error_y: shown === "raw" ? { type: "data", symmetric: false, array: found.tie_interval.map((t, i) => t[1] - found.raw[i]), arrayminus: found.tie_interval.map((t, i) => found.raw[i] - t[0]), color: theme.mark } : undefined }],
        layout: { height: 260, xaxis: { title: { text: "batch" }, type: "category" }, yaxis: { title: { text: VARIANTS.find((v) => v[0] === shown)[1] }, rangemode: "tozero" } },
      }));
      Haarbor.addTable(run, { name: "network-entropy", title: "Haar entropy of the network on every batch", columns: ["batch", ...VARIANTS.map((v) => v[0]), "all_scales", "least", "most"],
        rows: () => batches.map((b, i) => [b, ...VARIANTS.map((v) => found[v[0]][i]), found.all_scales[i], ...found.tie_interval[i]]) });
      side.append(Haarbor.figure(run.id("network-entropy-chart"), "On the trees of queries, keys and heads together",
        `Sum over the ${found.k} coarsest of ${found.n_functions.toLocaleString("en")} functions: ${Haarbor.number(mean(found.raw))} on average, normalised ${Haarbor.number(mean(found.normalised))}. Only normalised figures compare between networks.`,
        el("div", { class: "controls" }, Haarbor.choice("Variant", VARIANTS, shown, (value) => { shown = value; chart.redraw(); }), Haarbor.tableButton(run, "network-entropy")), node));
    },
  };
})();
