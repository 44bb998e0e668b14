// Two networks against each other: their figures in one table, and a score along their depths.
(() => {
  const { el } = Haarbor;
  const mean = (values) => { const known = values.filter((v) => v !== null); return known.reduce((a, b) => a + b, 0) / (known.length || 1); };
  Haarbor.twoRuns = (runs, host) => {
    // How often a head is in a set depends on the number of batches, which may differ.
    const shared = runs[0].data.scores.filter((s) => runs[1].hasScore(s.name) && !s.name.startsWith("batches-in-"));
    let score = (shared.find((s) => s.name === "entropy-normalised") || shared[0]).name;
    const depth = el("div", {}), difference = el("div", {});
    const layerMeans = (run) => Array.from({ length: run.data.layers }, (_, l) => mean(run.scoreNamed(score).values.slice(l * run.data.heads_per_layer, (l + 1) * run.data.heads_per_layer)));
    const same = runs[0].data.layers === runs[1].data.layers && runs[0].data.heads_per_layer === runs[1].data.heads_per_layer;
    const names = runs[0].data.model === runs[1].data.model ? runs.map((r, i) => `${"AB"[i]}: ${r.data.name}`) : runs.map((r, i) => `${"AB"[i]}: ${r.data.model}`);
    const lines = Haarbor.chart(depth, (theme) => ({
      traces: runs.map((run, i) => ({ x: layerMeans(run).map((_, l, all) => (all.length > 1 ? l / (all.length - 1) : 0)), y: layerMeans(run), mode: "lines+markers", type: "scatter", name: Haarbor.chartText(names[i]), line: { color: i ? theme.mark : theme.accent, width: 2.5 }, marker: { size: 6, symbol: i ? "diamond" : "circle" },
        text: layerMeans(run).map((_, l) => `layer ${l}`), hovertemplate: "%{text}: %{y:.4g}<extra></extra>" })),
      layout: { height: 300, showlegend: true, legend: { orientation: "h", y: 1.14, x: 0 }, xaxis: { title: { text: "depth (0 first layer, 1 last)" } }, yaxis: { title: { text: runs[0].scoreNamed(score).label } } },
    }));
    const maps = same ? Haarbor.chart(difference, (theme) => {
      const [a, b] = runs.map((r) => r.scoreNamed(score).values), H = runs[0].data.heads_per_layer;
      const z = Array.from({ length: runs[0].data.layers }, (_, l) => Array.from({ length: H }, (_, h) => (a[l * H + h] === null || b[l * H + h] === null ? null : b[l * H + h] - a[l * H + h])));
      const most = Math.max(...z.flat().map((v) => Math.abs(v ?? 0)), 1e-12), rgb = Haarbor.palette("signed");
      return {
        traces: [{ type: "heatmap", z, zmin: -most, zmax: most, xgap: 1, ygap: 1, colorscale: Array.from({ length: 11 }, (_, i) => { const q = 3 * Math.round(25.5 * i); return [i / 10, `rgb(${rgb[q]},${rgb[q + 1]},${rgb[q + 2]})`]; }), hovertemplate: "layer %{y}, head %{x}: %{z:.4g}<extra></extra>", colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: theme.pale } } }],
        layout: { height: Math.max(240, 60 + 14 * runs[0].data.layers), xaxis: { title: { text: "head" }, dtick: 1, showgrid: false }, yaxis: { title: { text: "layer" }, autorange: "reversed", showgrid: false } },
      };
    }, (Plotly, node) => node.on("plotly_click", (event) => runs.forEach((run) => run.choose(event.points[0].y * run.data.heads_per_layer + event.points[0].x)))) : null;
    const box = el("input", { type: "checkbox", id: "same-head" });
    const linked = el("label", { class: "control" }, box, "Open the same head in both");
    if (same) runs.forEach((run, i) => run.state.on(["chosen"], (now) => { if (box.checked) runs[1 - i].choose(now.chosen); }));
    const facts = [
      ["model", (r) => r.data.model], ["run", (r) => r.data.name], ["what was recorded", (r) => r.data.content], ["layers x heads", (r) => `${r.data.layers} x ${r.data.heads_per_layer}`],
      ["queries x keys", (r) => `${r.data.shown[0].n_queries} x ${r.data.shown[0].n_keys}`], ["batches", (r) => String(r.data.batches.length)],
      ...shared.map((s) => [`${s.label}, mean of heads`, (r) => Haarbor.number(mean(r.scoreNamed(s.name).values))]),
      ["Network entropy, normalised", (r) => (r.data.sections["network-entropy"] ? Haarbor.number(mean(r.data.sections["network-entropy"].normalised)) : "\u2013")],
      ["Kendall's tau between batches", (r) => (r.data.sections.stability ? Haarbor.number(r.data.sections.stability.means[0]) : "\u2013")],
    ];
    Haarbor.addTable(runs[0], { name: "two-networks", title: "The two networks side by side", columns: ["what", "A", "B"], rows: () => facts.map(([name, read]) => [name, read(runs[0]), read(runs[1])]) });
    Haarbor.put(host,
      runs[0].data.content !== runs[1].data.content ? el("p", { class: "warning" }, "One run holds probabilities and the other logits: their entropies do not compare.") : null,
      el("div", { class: "two" },
        el("div", { class: "card" }, el("div", { class: "controls" }, same ? linked : null, Haarbor.tableButton(runs[0], "two-networks")), el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Figures of both networks" },
          el("table", { class: "figures" }, el("thead", {}, el("tr", {}, el("th", {}), el("th", { scope: "col" }, "A"), el("th", { scope: "col" }, "B"))), el("tbody", {}, facts.map(([name, read]) => el("tr", {}, el("th", { scope: "row" }, name), runs.map((r) => el("td", {}, read(r))))))))),
        el("div", {}, Haarbor.figure("along-depth", "Score along the depth", "Mean of the heads of each layer.", el("div", { class: "controls" }, Haarbor.select("Score", shared.map((s) => [s.name, s.label]), score, (value) => { score = value; lines.redraw(); if (maps) maps.redraw(); })), depth),
          same ? Haarbor.figure("difference-map", "Difference of every head, B minus A", "Purple: more in A; orange: more in B. Click to open the head in both.", difference) : null)));
  };
})();
