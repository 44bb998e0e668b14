// How far the batches agree on the ranking of the heads and on their tree.
(() => {
  const { el } = Haarbor;
  const MEASURES = [
    ["kendall_tau", "Kendall's tau"],
    ["top_jaccard", "Top overlap"],
    ["bottom_jaccard", "Bottom overlap"],
  ];
  const N_NAMED = 120;
  const N_NUMBERED = 12;
  // Room that a number in a cell needs, in pixels.
  const LEAST_NUMBER = 38;
  const HEIGHT = 300;
  const BATCH_AXIS = { title: { text: "batch" }, type: "category" };

  /** Values of the sections of all runs together, so that their colours and axes compare. */
  function ofRuns(read) {
    const sections = Haarbor.runs.map((run) => run.data.sections.stability).filter(Boolean);
    return sections.flatMap(read).filter((value) => value !== null);
  }

  function agreementChart(found, batches, measure, theme, width) {
    const known = ofRuns((section) => section[measure].flat());
    // Overlaps are never below 0, tau may be.
    const hasNumbers = batches.length <= N_NUMBERED && width > LEAST_NUMBER * batches.length;
    const least = measure === "kendall_tau" ? Math.min(0, ...known) : 0;
    return {
      traces: [
        {
          type: "heatmap",
          x: batches,
          y: batches,
          z: found[measure],
          zmin: least,
          zmax: 1,
          colorscale: "Cividis",
          xgap: 1,
          ygap: 1,
          texttemplate: hasNumbers ? "%{z:.2f}" : "",
          hovertemplate: "batches %{y} and %{x}: %{z:.3f}<extra></extra>",
          colorbar: Haarbor.colourBar(theme),
        },
      ],
      layout: {
        xaxis: { ...BATCH_AXIS, showgrid: false },
        yaxis: { ...BATCH_AXIS, autorange: "reversed", showgrid: false },
      },
    };
  }

  /** Heads at an end of the ranking of some batch, most often on top first; of many, those often there. */
  function headsAtEnds(run, { top_counts: top, bottom_counts: bottom }, nBatches) {
    const heads = [...run.names.keys()].filter((head) => top[head] || bottom[head]);
    heads.sort((a, b) => top[b] - top[a] || bottom[a] - bottom[b] || a - b);
    if (heads.length < N_NAMED) {
      return heads;
    }
    return heads.filter((head) => 2 * Math.max(top[head], bottom[head]) > nBatches);
  }

  function countsChart(run, found, heads, nBatches, theme) {
    const names = heads.map((head) => run.names[head]);
    const bottom = heads.map((head) => found.bottom_counts[head]);
    return {
      traces: [
        {
          type: "bar",
          x: names,
          y: heads.map((head) => found.top_counts[head]),
          name: "top tenth",
          marker: { color: theme.accent },
          hovertemplate: "%{x}: top in %{y} batches<extra></extra>",
        },
        {
          type: "bar",
          x: names,
          y: bottom.map((count) => -count),
          name: "bottom tenth",
          marker: { color: theme.mark },
          customdata: bottom,
          hovertemplate: "%{x}: bottom in %{customdata} batches<extra></extra>",
        },
      ],
      layout: {
        barmode: "relative",
        xaxis: { type: "category", tickangle: -90, tickfont: { size: 10 } },
        yaxis: {
          title: { text: "batches in the set" },
          tickmode: "array",
          tickvals: [-nBatches, 0, nBatches],
          ticktext: [nBatches, 0, nBatches].map(String),
          range: [-nBatches * 1.08, nBatches * 1.08],
        },
      },
    };
  }

  function treesChart(found, batches, theme) {
    const most = Math.max(...ofRuns((section) => section.tree_distance));
    return {
      traces: [
        {
          type: "bar",
          x: batches,
          y: found.tree_distance,
          marker: { color: theme.accent },
          hovertemplate: "batch %{x}: %{y:.3f}<extra></extra>",
        },
      ],
      layout: {
        xaxis: BATCH_AXIS,
        yaxis: { title: { text: "distance to the common tree" }, range: [0, 1.05 * most || 1] },
      },
    };
  }

  function addTables(run, found, batches) {
    Haarbor.addTable(run, {
      name: "agreement",
      title: "Agreement of every two batches",
      columns: ["batch", "other_batch", ...MEASURES.map(([measure]) => measure)],
      rows: () =>
        batches.flatMap((one, i) =>
          batches.map((two, j) => [one, two, ...MEASURES.map(([measure]) => found[measure][i][j])]),
        ),
    });
    Haarbor.addTable(run, {
      name: "batch-trees",
      title: "Distance of every batch's head tree to the common one",
      columns: ["batch", "tree_distance", "distance_correlation"],
      rows: () => batches.map((batch, i) => [batch, found.tree_distance[i], found.distance_correlation[i]]),
    });
  }

  function agreementFigure(run, found, batches) {
    const node = el("div", {});
    let measure = "kendall_tau";
    const chart = Haarbor.chart(node, HEIGHT, (theme) =>
      agreementChart(found, batches, measure, theme, node.clientWidth),
    );
    const choice = Haarbor.choice("Measure", MEASURES, measure, (value) => {
      measure = value;
      chart.redraw();
    });
    const controls = Haarbor.controls(choice, Haarbor.tableButton(run, "agreement"));
    return Haarbor.figure(run.id("agreement"), "Agreement of every two batches", null, controls, node);
  }

  function treesFigure(run, found, batches) {
    const node = el("div", {});
    Haarbor.chart(node, HEIGHT, (theme) => treesChart(found, batches, theme));
    return Haarbor.figure(
      run.id("tree-agreement"),
      "Distance of each batch's tree to the common tree",
      "0 is the same tree, 1 the farthest there can be.",
      Haarbor.controls(Haarbor.tableButton(run, "batch-trees")),
      node,
    );
  }

  function countsFigure(run, found, nBatches) {
    const node = el("div", {});
    const heads = headsAtEnds(run, found, nBatches);
    Haarbor.chart(
      node,
      HEIGHT,
      (theme) => countsChart(run, found, heads, nBatches, theme),
      Haarbor.linkedToHeads(run, (point) => run.names.indexOf(point.x)),
    );
    const note =
      `How often a head is among the ${found.set_size} with the highest (up) or lowest (down) ` +
      "Haar entropy. Click one to open it.";
    return Haarbor.figure(
      run.id("counts"),
      "Heads at the ends of the ranking",
      note,
      Haarbor.controls(Haarbor.tableButton(run, "heads")),
      Haarbor.swatches([
        ["var(--accent)", "top tenth"],
        ["var(--mark)", "bottom tenth"],
      ]),
      node,
    );
  }

  function draw(run, side, found) {
    const batches = run.data.batches.map(String);
    const [tau, top, bottom] = found.means.map((mean) => Haarbor.number(mean));
    const lead =
      `On average over pairs of batches: Kendall's tau ${tau}, overlap of the top tenths ${top}, ` +
      `of the bottom tenths ${bottom} (1 is the same, ${found.set_size} heads each).`;
    addTables(run, found, batches);
    side.append(
      el("p", { class: "lead" }, lead),
      el("div", { class: "two" }, agreementFigure(run, found, batches), treesFigure(run, found, batches)),
      countsFigure(run, found, batches.length),
    );
  }

  Haarbor.sections.stability = { title: "Stability over batches", draw };
})();
