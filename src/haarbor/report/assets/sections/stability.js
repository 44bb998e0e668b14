// How far the batches agree on the ranking of the heads and on their tree.
(() => {
  const { el } = Haarbor;
  Haarbor.sections = Haarbor.sections || {};
  Haarbor.sections.stability = {
    title: "Stability over batches",
    draw(run, side, found) {
      const { data, state } = run, batches = data.batches.map(String), n = batches.length;
      const [tau, top, bottom] = found.means;
      const counts = el("div", {}), agreement = el("div", {}), trees = el("div", {});
      let shown = "kendall_tau";
      const chart = Haarbor.chart(agreement, (theme) => ({
        traces: [{ type: "heatmap", x: batches, y: batches, z: found[shown], zmin: shown === "kendall_tau" ? Math.min(0, ...found.kendall_tau.flat().filter((v) => v !== null)) : 0, zmax: 1, colorscale: "Cividis", xgap: 1, ygap: 1,
          texttemplate: n <= 12 ? "%{z:.2f}" : "", hovertemplate: "batches %{y} and %{x}: %{z:.3f}<extra></extra>", colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: theme.pale } } }],
        layout: { height: 300, xaxis: { title: { text: "batch" }, type: "category", showgrid: false }, yaxis: { title: { text: "batch" }, type: "category", autorange: "reversed", showgrid: false } },
      }));
      const ranked = [...run.names.keys()].filter((h) => found.top_counts[h] || found.bottom_counts[h]).sort((a, b) => found.top_counts[b] - found.top_counts[a] || found.bottom_counts[a] - found.bottom_counts[b] || a - b);
      const named = ranked.length > 60 ? ranked.filter((h) => Math.max(found.top_counts[h], found.bottom_counts[h]) * 2 > n || ranked.length < 120) : ranked;
      Haarbor.chart(counts, (theme) => ({
        traces: [
          { type: "bar", x: named.map((h) => run.names[h]), y: named.map((h) => found.top_counts[h]), name: "top tenth", marker: { color: theme.accent }, hovertemplate: "%{x}: top in %{y} batches<extra></extra>" },
          { type: "bar", x: named.map((h) => run.names[h]), y: named.map((h) => -found.bottom_counts[h]), name: "bottom tenth", marker: { color: theme.mark }, customdata: named.map((h) => found.bottom_counts[h]), hovertemplate: "%{x}: bottom in %{customdata} batches<extra></extra>" },
        ],
        layout: { height: 300, barmode: "relative", showlegend: true, legend: { orientation: "h", y: 1.12, x: 0 }, xaxis: { type: "category", tickangle: -90, tickfont: { size: 10 } },
          yaxis: { title: { text: "batches in the set" }, tickmode: "array", tickvals: [-n, 0, n], ticktext: [n, 0, n].map(String), range: [-n * 1.08, n * 1.08] } },
      }), (Plotly, node) => {
        node.on("plotly_click", (event) => run.choose(run.names.indexOf(event.points[0].x)));
        node.on("plotly_hover", (event) => state.set({ hovered: run.names.indexOf(event.points[0].x) }));
        node.on("plotly_unhover", () => state.set({ hovered: null }));
      });
      Haarbor.chart(trees, (theme) => ({
        traces: [{ type: "bar", x: batches, y: found.tree_distance, marker: { color: theme.accent }, hovertemplate: "batch %{x}: %{y:.3f}<extra></extra>" }],
        layout: { height: 300, xaxis: { title: { text: "batch" }, type: "category" }, yaxis: { title: { text: "distance to the common tree" }, rangemode: "tozero" } },
      }));
      Haarbor.addTable(run, { name: "agreement", title: "Agreement of every two batches", columns: ["batch", "other_batch", "kendall_tau", "top_jaccard", "bottom_jaccard"],
        rows: () => batches.flatMap((a, i) => batches.map((b, j) => [a, b, found.kendall_tau[i][j], found.top_jaccard[i][j], found.bottom_jaccard[i][j]])) });
      Haarbor.addTable(run, { name: "batch-trees", title: "Distance of every batch's head tree to the common one", columns: ["batch", "tree_distance", "distance_correlation"],
        rows: () => batches.map((b, i) => [b, found.tree_distance[i], found.distance_correlation[i]]) });
      side.append(
        el("p", { class: "lead" }, `On average over pairs of batches: Kendall's tau ${Haarbor.number(tau)}, overlap of the top tenths ${Haarbor.number(top)}, of the bottom tenths ${Haarbor.number(bottom)} (1 is the same, ${found.set_size} heads each).`),
        el("div", { class: "two" },
          Haarbor.figure(run.id("agreement"), "Agreement of every two batches", null, el("div", { class: "controls" },
            Haarbor.choice("Measure", [["kendall_tau", "Kendall's tau"], ["top_jaccard", "Top overlap"], ["bottom_jaccard", "Bottom overlap"]], shown, (value) => { shown = value; chart.redraw(); }), Haarbor.tableButton(run, "agreement")), agreement),
          Haarbor.figure(run.id("tree-agreement"), "Distance of each batch's tree to the common tree", "0 is the same tree, 1 the farthest there can be.", el("div", { class: "controls" }, Haarbor.tableButton(run, "batch-trees")), trees)),
        Haarbor.figure(run.id("counts"), "Heads at the ends of the ranking", `How often a head is among the ${found.set_size} with the highest (up) or lowest (down) Haar entropy. Click one to open it.`, el("div", { class: "controls" }, Haarbor.tableButton(run, "heads")), counts));
    },
  };
})();
