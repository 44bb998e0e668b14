// How nearly the tokens become the same with depth, one line per variant of the network; and paths by length.
(() => {
  const { el } = Haarbor;
  const FIGURES = [
    ["composite", "Residual", "residual, relative to the tokens", "log"],
    ["frobenius", "Residual, Frobenius", "residual, relative to the tokens", "log"],
    ["effective_rank", "Effective rank", "directions in use", "log"],
    ["cosine", "Cosine", "mean cosine of two tokens", "linear"],
  ];
  // Told apart in light and dark, and by those who see few colours; the dashes help.
  const COLOURS = ["#0b8fb8", "#d55e00", "#009e73", "#b0418a", "#b8860b", "#7a7fd6"];
  const DASHES = ["solid", "dash", "solid", "dash", "dot", "dashdot"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "cross"];
  const BEGINNINGS = { tokens: "#0b8fb8", MLPs: "#d55e00", biases: "#009e73" };
  const HEIGHT = 360;
  const PATHS_HEIGHT = 280;
  // Residuals far below rounding say no more than those at it.
  const BELOW_FLOOR = 50;
  const MOST_TICKS = 16;

  /** An axis of whole numbers, from 0 to `last`. */
  const wholeAxis = (text, last) => ({
    title: { text },
    zeroline: false,
    tick0: 0,
    dtick: Math.max(1, Math.ceil(last / MOST_TICKS)),
  });

  function drawn(values, floor, isResidual) {
    return isResidual
      ? values.map((value) => (value === null ? null : Math.max(value, floor / BELOW_FLOOR)))
      : values;
  }

  function boundTrace(weights, theme) {
    const least = Math.log10(weights.floor / BELOW_FLOOR);
    const logs = weights.log10_bound;
    // It goes down without end; where it leaves the picture it has said everything.
    const end = logs.findIndex((log) => log !== null && log <= least);
    return {
      type: "scatter",
      mode: "lines",
      name: "bound",
      x: [...logs.keys()],
      y: logs.map((log, i) =>
        log === null || (end >= 0 && i > end) ? null : 10 ** Math.min(2, Math.max(log, least)),
      ),
      customdata: logs,
      line: { color: theme.ink, width: 1.5, dash: "longdash" },
      hovertemplate: "bound after %{x} layers: 10<sup>%{customdata:.3g}</sup><extra></extra>",
    };
  }

  function depthChart(weights, figure) {
    const [, label, title, type] = FIGURES.find(([name]) => name === figure);
    const isResidual = title.startsWith("residual");
    return (theme) => {
      const traces = weights.variants.map((variant, place) => ({
        type: "scatter",
        mode: "lines+markers",
        name: variant,
        x: [...weights.figures[figure][place].keys()],
        y: drawn(weights.figures[figure][place], weights.floor, isResidual),
        customdata: weights.figures[figure][place],
        line: { color: COLOURS[place % COLOURS.length], width: 2, dash: DASHES[place % DASHES.length] },
        marker: { size: 6, symbol: SYMBOLS[place % SYMBOLS.length] },
        hovertemplate: `${variant}, after %{x} layers: %{customdata:.3g}<extra>${label}</extra>`,
      }));
      const isBounded = figure === "composite" && weights.log10_bound;
      return {
        traces: isBounded ? [...traces, boundTrace(weights, theme)] : traces,
        layout: {
          xaxis: wholeAxis("layers passed", weights.figures[figure][0].length - 1),
          yaxis: { title: { text: title }, type, exponentformat: "power", dtick: type === "log" ? 1 : null },
          shapes: isResidual
            ? [
                {
                  type: "line",
                  xref: "paper",
                  x0: 0,
                  x1: 1,
                  y0: weights.floor,
                  y1: weights.floor,
                  line: { color: theme.pale, dash: "dot", width: 1 },
                },
              ]
            : [],
        },
      };
    };
  }

  function addTable(run, found) {
    Haarbor.addTable(run, {
      name: "collapse",
      title: "Residuals, effective rank and cosine of the tokens by depth, for every variant",
      columns: ["weights", "variant", "layers_passed", ...FIGURES.map(([name]) => name), "log10_bound"],
      rows: () =>
        found.weights.flatMap((weights) =>
          weights.variants.flatMap((variant, place) =>
            [...weights.figures.composite[place].keys()].map((depth) => [
              weights.name,
              variant,
              depth,
              ...FIGURES.map(([name]) => weights.figures[name][place][depth]),
              variant === found.bounded && weights.log10_bound ? weights.log10_bound[depth] : null,
            ]),
          ),
        ),
    });
  }

  function pathFigures(run, paths) {
    const sharesNode = el("div", {});
    const residualsNode = el("div", {});
    const lengths = [...paths.n_paths.keys()];
    const names = Object.keys(BEGINNINGS).filter((name) => paths.shares[name]);
    const xaxis = wholeAxis("heads on the path", lengths.length - 1);
    Haarbor.chart(sharesNode, PATHS_HEIGHT, () => ({
      traces: names.map((name) => ({
        type: "bar",
        name,
        x: lengths,
        y: paths.shares[name],
        marker: { color: BEGINNINGS[name] },
        hovertemplate: `%{x} heads, from ${name}: %{y:.3g}<extra></extra>`,
      })),
      layout: { barmode: "group", bargap: 0.25, xaxis, yaxis: { title: { text: "share of the output" } } },
    }));
    Haarbor.chart(residualsNode, PATHS_HEIGHT, (theme) => ({
      traces: [
        {
          type: "scatter",
          mode: "lines+markers",
          x: lengths,
          y: paths.residual,
          error_y: { type: "data", array: paths.residual_error, color: theme.pale, thickness: 1, width: 2 },
          line: { color: theme.accent, width: 2 },
          hovertemplate: "%{x} heads: %{y:.3g}<extra></extra>",
        },
      ],
      layout: { xaxis, yaxis: { title: { text: "residual of one path" }, rangemode: "tozero" } },
    }));
    Haarbor.addTable(run, {
      name: "paths",
      title: "Paths through heads and skips by the number of heads on them",
      columns: ["heads", "paths", ...names.map((name) => `share_from_${name}`), "residual", "error"],
      rows: () =>
        lengths.map((length) => [
          length,
          paths.n_paths[length],
          ...names.map((name) => paths.shares[name][length]),
          paths.residual[length],
          paths.residual_error[length],
        ]),
    });
    return el(
      "div",
      { class: "two" },
      Haarbor.figure(
        run.id("path-shares"),
        "Paths by length",
        "Norm of the sum of all paths with so many heads over that of the output, by where they begin; " +
          "parts cancel.",
        Haarbor.controls(Haarbor.tableButton(run, "paths")),
        Haarbor.swatches(names.map((name) => [BEGINNINGS[name], `from ${name}`])),
        sharesNode,
      ),
      Haarbor.figure(
        run.id("path-residuals"),
        "How alike one path makes the tokens",
        "Mean residual of one path from the tokens; 0 is all tokens the same. Bars are standard errors.",
        residualsNode,
      ),
    );
  }

  function residualFigure(run, found) {
    let [weights] = found.weights;
    let figure = "composite";
    const node = el("div", {});
    const words = el("p", { class: "note", "aria-live": "polite" });
    const chart = Haarbor.chart(node, HEIGHT, (theme) => depthChart(weights, figure)(theme));
    const show = () => {
      words.textContent = weights.bound;
      chart.redraw();
    };
    addTable(run, found);
    const choices = [
      Haarbor.choice(
        "Measure of tokens",
        FIGURES.map(([name, label]) => [name, label]),
        figure,
        (value) => {
          figure = value;
          show();
        },
      ),
    ];
    if (found.weights.length > 1) {
      const names = found.weights.map(({ name }, place) => [String(place), name]);
      choices.push(
        Haarbor.choice("Weights", names, "0", (value) => {
          weights = found.weights[Number(value)];
          show();
        }),
      );
    }
    words.textContent = weights.bound;
    const swatches = weights.variants.map((variant, place) => [COLOURS[place % COLOURS.length], variant]);
    if (found.weights.some(({ log10_bound: bound }) => bound)) {
      swatches.push(["var(--ink)", `bound for ${found.bounded}`]);
    }
    return Haarbor.figure(
      run.id("collapse-depths"),
      "Tokens by depth",
      "Medians over the inputs. At a residual of 0 all tokens are the same; below the dotted line is " +
        "rounding, and a line ends where the tokens overflow or vanish.",
      Haarbor.controls(...choices, Haarbor.tableButton(run, "collapse")),
      Haarbor.swatches(swatches),
      node,
      words,
    );
  }

  function draw(run, side, found) {
    if (found.weights.length) {
      const [first] = found.weights;
      const of = first.samples === 1 ? "One input" : `${first.samples} inputs`;
      side.append(
        el("p", { class: "lead" }, found.verdict[0]),
        residualFigure(run, found),
        el("p", { class: "note" }, `${of}${found.data ? `: ${found.data}` : ""}.`),
      );
    }
    if (found.paths) {
      side.append(pathFigures(run, found.paths));
    }
  }

  Haarbor.sections.collapse = { title: "Rank collapse", draw };
})();
