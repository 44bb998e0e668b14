// Checkpoints of the training in order: what changes, and when.
(() => {
  const { el } = Haarbor;
  const MEASURES = [
    ["distances_to_last", "Distance to the last checkpoint"],
    ["entropies", "Haar entropy"],
    ["sink_shares", "Attention to the first token"],
    ["residuals", "Residual of the tokens"],
  ];
  const LINES = [
    ["tree_correlations", "head tree, as the last", "accent", "solid"],
    ["structure", "token trees, gain over random", "mark", "dash"],
    ["sink_rates", "share of heads that are sinks", "pale", "dot"],
  ];
  const HEIGHT = 320;
  const ALL = "all";

  const shown = (steps) => steps.map((step) => step.toLocaleString("en"));
  // The steps are on a logarithmic scale already, and the first is often 0.
  const stepAxis = { title: { text: "step" }, type: "category", tickangle: -45 };

  function layersChart(found, measure, theme) {
    const values = measure === "residuals" ? found.residuals : found.layers[measure];
    const nLayers = values[0].length;
    const [, label] = MEASURES.find(([name]) => name === measure);
    return {
      traces: [
        {
          type: "heatmap",
          x: shown(found.steps),
          y: Array.from({ length: nLayers }, (_, layer) => layer),
          z: Array.from({ length: nLayers }, (_, layer) => values.map((row) => row[layer])),
          colorscale: "Cividis",
          xgap: 1,
          ygap: 1,
          colorbar: Haarbor.colourBar(theme),
          hovertemplate: `step %{x}, layer %{y}: %{z:.3f}<extra>${label}</extra>`,
        },
      ],
      layout: {
        xaxis: { ...stepAxis, showgrid: false },
        yaxis: {
          title: { text: "layer" },
          autorange: "reversed",
          showgrid: false,
          dtick: Math.ceil(nLayers / 16),
        },
      },
    };
  }

  function networkChart(found, theme) {
    return {
      traces: LINES.map(([name, label, colour, dash]) => ({
        type: "scatter",
        mode: "lines+markers",
        x: shown(found.steps),
        y: found.network[name],
        name: label,
        line: { color: theme[colour], width: 2.5, dash },
        marker: { size: 6 },
        hovertemplate: `step %{x}: %{y:.3f}<extra>${label}</extra>`,
      })),
      layout: { xaxis: stepAxis, yaxis: { title: { text: "correlation, or share" } } },
    };
  }

  function typesChart(found, chosen) {
    return () => ({
      traces: found.types.map(({ name, place, counts }) => ({
        type: "bar",
        x: shown(found.steps),
        y: counts,
        name,
        marker: {
          color: Haarbor.typeColour(place),
          opacity: chosen() === ALL || chosen() === name ? 1 : 0.15,
        },
        hovertemplate: `step %{x}: %{y} heads<extra>${name}</extra>`,
      })),
      layout: { barmode: "stack", bargap: 0.2, xaxis: stepAxis, yaxis: { title: { text: "heads" } } },
    });
  }

  /** When do types of heads appear? */
  function typesFigure(run, found) {
    let type = ALL;
    const node = el("div", {});
    const chart = Haarbor.chart(
      node,
      HEIGHT,
      typesChart(found, () => type),
    );
    Haarbor.addTable(run, {
      name: "training-types",
      title: "Heads of each type at every checkpoint",
      columns: ["checkpoint", "step", ...found.types.map(({ name }) => name)],
      rows: () =>
        found.names.map((name, i) => [name, found.steps[i], ...found.types.map(({ counts }) => counts[i])]),
    });
    const options = [[ALL, "all types"], ...found.types.map(({ name }) => [name, name])];
    const choice = Haarbor.choice("Type at the checkpoints", options, ALL, (value) => {
      type = value;
      chart.redraw();
    });
    return Haarbor.figure(
      run.id("training-types"),
      "Types of heads",
      "How many heads are of each type at every checkpoint. Choose a type to see it alone.",
      Haarbor.controls(choice, Haarbor.tableButton(run, "training-types")),
      Haarbor.swatches(found.types.map(({ name, place }) => [Haarbor.typeColour(place), name])),
      node,
    );
  }

  function draw(run, side, found) {
    let measure = "distances_to_last";
    const layersNode = el("div", {});
    const networkNode = el("div", {});
    const layers = Haarbor.chart(layersNode, HEIGHT, (theme) => layersChart(found, measure, theme));
    Haarbor.chart(networkNode, HEIGHT, (theme) => networkChart(found, theme));
    const offered = MEASURES.filter(([name]) => name !== "residuals" || found.residuals);
    const names = LINES.map(([name]) => name);
    Haarbor.addTable(run, {
      name: "training",
      title: "Checkpoints of the training",
      columns: ["checkpoint", "step", "network_entropy", ...names],
      rows: () =>
        found.names.map((name, i) => [
          name,
          found.steps[i],
          found.network_entropies[i],
          ...names.map((line) => found.network[line][i]),
        ]),
    });
    const choice = Haarbor.choice("Measure of checkpoints", offered, measure, (value) => {
      measure = value;
      layers.redraw();
    });
    side.append(
      el("p", { class: "lead" }, found.verdict.join(" ")),
      el(
        "div",
        { class: "two" },
        Haarbor.figure(
          run.id("training-layers"),
          "Layer by layer",
          "Means over the heads of a layer.",
          Haarbor.controls(choice),
          layersNode,
        ),
        Haarbor.figure(
          run.id("training-network"),
          "Trees and sinks",
          "1 is the tree of the last checkpoint, or all heads.",
          Haarbor.controls(Haarbor.tableButton(run, "training")),
          Haarbor.swatches(LINES.map(([, label, colour]) => [`var(--${colour})`, label])),
          networkNode,
        ),
      ),
    );
    if (found.types.length) {
      side.append(typesFigure(run, found));
    }
  }

  Haarbor.sections.training = { title: "Training", draw };
})();
