// How nearly the softmax of every head is a linear function of its logits, against shuffled controls.
(() => {
  const { el } = Haarbor;
  const FORMS = [
    ["exact", "corrected form"],
    ["paper", "the paper\u2019s form"],
    ["invariance", "constants 1 (invariance)"],
    ["linear", "logits alone"],
  ];
  const KINDS = [
    ["organised", "organised trees", "accent"],
    ["shuffled_trees", "shuffled trees", "pale"],
    ["shuffled_rows", "shuffled logits", "mark"],
  ];
  const LOWEST_BAR = -1;
  const HEIGHT = 320;

  function headsChart(run, found, heads, theme) {
    const chosen = run.state.get("chosen");
    const ofChosen = (yes, no) => heads.map((head) => (head === chosen ? yes : no));
    return {
      traces: [
        {
          type: "scatter",
          mode: "markers",
          x: heads.map((head) => found.logit_deviation[head]),
          y: heads.map((head) => found.figures.invariance[head]),
          text: heads.map((head) => run.names[head]),
          marker: {
            opacity: 1,
            size: ofChosen(14, 8),
            color: heads.map(run.layerOf),
            colorscale: "Cividis",
            showscale: run.data.layers > 1,
            colorbar: Haarbor.colourBar(theme, "layer"),
            line: { width: ofChosen(3, 0.6), color: ofChosen(theme.mark, theme.pale) },
          },
          hovertemplate: "%{text}: spread %{x:.2f}, invariance %{y:.2f}<extra></extra>",
        },
      ],
      layout: {
        xaxis: { title: { text: "spread of the logits" }, rangemode: "tozero" },
        yaxis: { title: { text: "softmax invariance" } },
      },
    };
  }

  function formsChart(medians, theme) {
    const traces = KINDS.map(([kind, name, colour]) => ({
      type: "bar",
      x: FORMS.map(([, label]) => label),
      y: medians[kind].map((value) => (value === null ? null : Math.max(LOWEST_BAR, value))),
      customdata: medians[kind],
      name,
      marker: { color: theme[colour] },
      hovertemplate: `${name}: %{customdata:.2f}<extra></extra>`,
    }));
    return {
      traces,
      layout: {
        barmode: "group",
        xaxis: { type: "category", automargin: true },
        yaxis: { title: { text: "softmax explained, median head" } },
      },
    };
  }

  /** What the figures are, and what invariance goes most with, in two sentences. */
  function leadWords({ batch, correlations }) {
    const about =
      `On batch ${batch}, each head on trees of its own. ` +
      "1 is all of the softmax, 0 no better than a uniform head.";
    const known = Object.entries(correlations).filter(([, value]) => value !== null);
    if (!known.length) {
      return [about];
    }
    const [[name, value]] = known.sort(([, one], [, two]) => Math.abs(two) - Math.abs(one));
    const correlation = Haarbor.number(value, 2);
    return [about, ` Invariance goes most with the ${name} (rank correlation ${correlation}).`];
  }

  function draw(run, side, found) {
    const heads = [...run.names.keys()].filter((head) => found.figures.invariance[head] !== null);
    const headsNode = el("div", {});
    const formsNode = el("div", {});
    const chart = Haarbor.chart(
      headsNode,
      HEIGHT,
      (theme) => headsChart(run, found, heads, theme),
      Haarbor.linkedToHeads(run, (point) => heads[point.pointIndex]),
    );
    run.state.on(["chosen"], chart.redraw);
    Haarbor.chart(formsNode, HEIGHT, (theme) => formsChart(found.medians, theme));
    const forms = FORMS.map(([form]) => form);
    Haarbor.addTable(run, {
      name: "softmax-invariance",
      title: "How much of the softmax of every head each form explains",
      columns: ["batch", "layer", "head", ...forms, "logit_deviation"],
      rows: () =>
        run.names.map((_, head) => [
          found.batch,
          run.layerOf(head),
          run.numberInLayer(head),
          ...forms.map((form) => found.figures[form][head]),
          found.logit_deviation[head],
        ]),
    });
    const tableButton = () => Haarbor.controls(Haarbor.tableButton(run, "softmax-invariance"));
    const headsFigure = Haarbor.figure(
      run.id("invariance-heads"),
      "Heads: invariance and spread of the logits",
      "Every point is a head. Click one to open it.",
      tableButton(),
      headsNode,
    );
    const formsFigure = Haarbor.figure(
      run.id("invariance-forms"),
      "What explains the softmax",
      "Medians over heads; bars below \u22121 are cut.",
      tableButton(),
      Haarbor.swatches(KINDS.map(([, name, colour]) => [`var(--${colour})`, name])),
      formsNode,
    );
    side.append(
      el("p", { class: "lead" }, leadWords(found)),
      el("div", { class: "two" }, headsFigure, formsFigure),
    );
  }

  Haarbor.sections.invariance = { title: "Softmax invariance", draw };
})();
