// Two networks against each other: their figures in one table, and a score along their depths.
(() => {
  const { el } = Haarbor;
  const LETTERS = "AB";

  function knownMean(values) {
    const known = values.filter((value) => value !== null);
    return Haarbor.sum(known) / (known.length || 1);
  }

  /** Mean of a score over the heads of every layer. */
  function layerMeans(run, score) {
    const { layers, heads_per_layer: perLayer } = run.data;
    const { values } = run.scoreNamed(score);
    return Array.from({ length: layers }, (_, layer) =>
      knownMean(values.slice(layer * perLayer, (layer + 1) * perLayer)),
    );
  }

  /** The name of a run: that of its model, unless the other is of the same one. */
  function nameOf(run, runs) {
    const areAlike = runs[0].data.model === runs[1].data.model;
    return `${run.letter}: ${areAlike ? run.data.name : run.data.model}`;
  }

  function depthChart(runs, score, theme) {
    const traces = runs.map((run, i) => {
      const means = layerMeans(run, score);
      return {
        x: means.map((_, layer) => (means.length > 1 ? layer / (means.length - 1) : 0)),
        y: means,
        mode: "lines+markers",
        type: "scatter",
        name: Haarbor.chartText(nameOf(run, runs)),
        line: { color: i ? theme.mark : theme.accent, width: 2.5 },
        marker: { size: 6, symbol: i ? "diamond" : "circle" },
        text: means.map((_, layer) => `layer ${layer}`),
        hovertemplate: "%{text}: %{y:.4g}<extra></extra>",
      };
    });
    return {
      traces,
      layout: {
        xaxis: { title: { text: "depth (0 first layer, 1 last)" } },
        yaxis: { title: { text: runs[0].scoreNamed(score).label } },
      },
    };
  }

  function differenceChart(runs, score, theme) {
    const { layers, heads_per_layer: perLayer } = runs[0].data;
    const [one, two] = runs.map((run) => run.scoreNamed(score).values);
    const difference = one.map((value, head) =>
      value === null || two[head] === null ? null : two[head] - value,
    );
    const most = Math.max(...difference.map((value) => Math.abs(value ?? 0)), 1e-12);
    const rows = Array.from({ length: layers }, (_, layer) =>
      difference.slice(layer * perLayer, (layer + 1) * perLayer),
    );
    const colours = Array.from({ length: 11 }, (_, i) => [
      i / 10,
      Haarbor.stepColour(Math.round(25.5 * i), "signed"),
    ]);
    return {
      traces: [
        {
          type: "heatmap",
          z: rows,
          zmin: -most,
          zmax: most,
          xgap: 1,
          ygap: 1,
          colorscale: colours,
          colorbar: Haarbor.colourBar(theme),
          hovertemplate: "layer %{y}, head %{x}: %{z:.4g}<extra></extra>",
        },
      ],
      layout: {
        xaxis: { title: { text: "head" }, dtick: 1, showgrid: false },
        yaxis: { title: { text: "layer" }, autorange: "reversed", showgrid: false },
      },
    };
  }

  /** What the table says of each network: [name, function of a run]. */
  function facts(scores) {
    const ofSections = (run, name, read) => {
      const section = run.data.sections[name];
      return section ? Haarbor.number(read(section)) : "\u2013";
    };
    return [
      ["model", (run) => run.data.model],
      ["run", (run) => run.data.name],
      ["what was recorded", (run) => run.data.content],
      ["layers x heads", (run) => `${run.data.layers} x ${run.data.heads_per_layer}`],
      ["queries x keys", (run) => `${run.data.shown[0].n_queries} x ${run.data.shown[0].n_keys}`],
      ["batches", (run) => String(run.data.batches.length)],
      ...scores.map((score) => [
        `${score.label}, mean of heads${score.compares ? "" : " \u2020"}`,
        (run) => Haarbor.number(knownMean(run.scoreNamed(score.name).values)),
        score,
      ]),
      [
        "Network entropy, normalised",
        (run) => ofSections(run, "network-entropy", (section) => knownMean(section.normalised)),
      ],
      ["Kendall's tau between batches", (run) => ofSections(run, "stability", ({ means }) => means[0])],
    ];
  }

  function factTable(runs, rows) {
    const columns = runs.map((_, i) => el("th", { scope: "col" }, LETTERS[i]));
    const body = rows.map(([name, read, score]) => {
      const values = runs.map((run) => el("td", {}, read(run)));
      const words = score
        ? Haarbor.explained(el("span", { class: "term", tabIndex: 0 }, name), ...Haarbor.scoreLines(score))
        : name;
      return el("tr", {}, el("th", { scope: "row" }, words), values);
    });
    return el(
      "div",
      { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Figures of both networks" },
      el(
        "table",
        { class: "figures" },
        el("thead", {}, el("tr", {}, el("th", {}), columns)),
        el("tbody", {}, body),
      ),
    );
  }

  /** A box to tick so that a head opened in one run is opened in the other too. */
  function sameHeadBox(runs) {
    const box = el("input", { type: "checkbox", id: "same-head" });
    runs.forEach((run, i) => {
      run.state.on(["chosen"], ({ chosen }) => {
        if (box.checked) {
          runs[1 - i].choose(chosen);
        }
      });
    });
    return el("label", { class: "control" }, box, "Open the same head in both");
  }

  /** Score, scale and colours are those of both runs. */
  function linkChoices(runs) {
    runs.forEach((run, i) => {
      const other = runs[1 - i];
      run.state.on(["score", "scaleBy", "palette"], ({ score, scaleBy, palette }) =>
        other.state.set({ scaleBy, palette, ...(other.hasScore(score) ? { score } : {}) }),
      );
    });
  }

  Haarbor.twoRuns = (runs, host) => {
    const [one, two] = runs.map((run) => run.data);
    const hasSameHeads = one.layers === two.layers && one.heads_per_layer === two.heads_per_layer;
    // How often a head is in a set depends on the number of batches, which may differ.
    const shared = one.scores.filter(({ name }) => runs[1].hasScore(name) && !name.startsWith("batches-in-"));
    let score = (shared.find(({ name }) => name === "entropy-normalised") || shared[0]).name;
    const rows = facts(shared);
    Haarbor.addTable(runs[0], {
      name: "two-networks",
      title: "The two networks side by side",
      columns: ["what", "A", "B"],
      rows: () => rows.map(([name, read]) => [name, read(runs[0]), read(runs[1])]),
    });

    const depthNode = el("div", {});
    const charts = [Haarbor.chart(depthNode, 320, (theme) => depthChart(runs, score, theme))];
    let differenceFigure = null;
    if (hasSameHeads) {
      const node = el("div", {});
      const openInBoth = (event) => {
        const { x, y } = event.points[0];
        runs.forEach((run) => run.choose(y * run.data.heads_per_layer + x));
      };
      charts.push(
        Haarbor.chart(
          node,
          Math.max(320, 60 + 14 * one.layers),
          (theme) => differenceChart(runs, score, theme),
          () => node.on("plotly_click", openInBoth),
        ),
      );
      differenceFigure = Haarbor.figure(
        "difference-map",
        "Difference of every head, B minus A",
        "Purple: more in A; orange: more in B. Click to open the head in both.",
        node,
      );
    }
    const scoreOptions = shared.map(({ name, label }) => [name, label]);
    const scoreSelect = Haarbor.select("Score", scoreOptions, score, (value) => {
      score = value;
      charts.forEach((chart) => chart.redraw());
    });
    const depthFigure = Haarbor.figure(
      "along-depth",
      "Score along the depth",
      "Mean of the heads of each layer.",
      Haarbor.controls(scoreSelect),
      Haarbor.swatches(runs.map((run, i) => [i ? "var(--mark)" : "var(--accent)", nameOf(run, runs)])),
      depthNode,
    );
    const warning = "One run holds probabilities and the other logits: their entropies do not compare.";
    const table = el(
      "div",
      { class: "card" },
      Haarbor.controls(hasSameHeads ? sameHeadBox(runs) : null, Haarbor.tableButton(runs[0], "two-networks")),
      factTable(runs, rows),
      el("p", { class: "note" }, "\u2020 depends on the sizes of matrices and batches: do not compare."),
    );
    Haarbor.put(
      host,
      one.content === two.content ? null : el("p", { class: "warning" }, warning),
      differenceFigure ? el("div", { class: "two" }, depthFigure, differenceFigure) : depthFigure,
      table,
    );
    linkChoices(runs);
  };
})();
