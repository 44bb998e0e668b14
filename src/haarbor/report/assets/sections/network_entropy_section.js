// Haar entropy of the whole network, batch by batch.
(() => {
  const { el } = Haarbor;
  const VARIANTS = [
    ["raw", "Haar entropy"],
    ["normalised", "normalised"],
    ["mean_removed", "without the mean"],
    ["energy_share", "energy share"],
    ["fine_share", "fine share"],
  ];

  /** Bars from the least to the greatest entropy that ties between coefficients leave open. */
  function tieBars(found, theme) {
    return {
      type: "data",
      symmetric: false,
      array: found.tie_interval.map(([, most], i) => most - found.raw[i]),
      arrayminus: found.tie_interval.map(([least], i) => found.raw[i] - least),
      color: theme.mark,
    };
  }

  /** The top of the axis: common to two runs, except for what does not compare between networks. */
  function topOf(variant) {
    const runs = Haarbor.runs.filter((run) => run.data.sections["network-entropy"]);
    if (variant === "raw" || runs.length < 2) {
      return null;
    }
    return 1.05 * Math.max(...runs.flatMap((run) => run.data.sections["network-entropy"][variant]));
  }

  function entropyChart(found, batches, variant, theme) {
    const top = topOf(variant);
    const [, title] = VARIANTS.find(([name]) => name === variant);
    return {
      traces: [
        {
          type: "bar",
          x: batches,
          y: found[variant],
          marker: { color: theme.accent },
          hovertemplate: "batch %{x}: %{y:.5g}<extra></extra>",
          error_y: variant === "raw" ? tieBars(found, theme) : undefined,
        },
      ],
      layout: {
        xaxis: { title: { text: "batch" }, type: "category" },
        yaxis: { title: { text: title }, rangemode: "tozero", ...(top ? { range: [0, top] } : {}) },
      },
    };
  }

  function draw(run, side, found) {
    const batches = run.data.batches.map(String);
    const node = el("div", {});
    let variant = "normalised";
    const chart = Haarbor.chart(node, 260, (theme) => entropyChart(found, batches, variant, theme));
    const names = VARIANTS.map(([name]) => name);
    Haarbor.addTable(run, {
      name: "network-entropy",
      title: "Haar entropy of the network on every batch",
      columns: ["batch", ...names, "all_scales", "least", "most"],
      rows: () =>
        batches.map((batch, i) => [
          batch,
          ...names.map((name) => found[name][i]),
          found.all_scales[i],
          ...found.tie_interval[i],
        ]),
    });
    const raw = Haarbor.number(Haarbor.mean(found.raw));
    const normalised = Haarbor.number(Haarbor.mean(found.normalised));
    const note =
      `Sum over the ${found.k} coarsest of ${found.n_functions.toLocaleString("en")} functions: ` +
      `${raw} on average, normalised ${normalised}. Only normalised figures compare between networks.`;
    const choice = Haarbor.choice("Variant", VARIANTS, variant, (value) => {
      variant = value;
      chart.redraw();
    });
    side.append(
      Haarbor.figure(
        run.id("network-entropy-chart"),
        "On the trees of queries, keys and heads together",
        note,
        Haarbor.controls(choice, Haarbor.tableButton(run, "network-entropy")),
        node,
      ),
    );
  }

  Haarbor.sections["network-entropy"] = { title: "Network entropy", draw };
})();
