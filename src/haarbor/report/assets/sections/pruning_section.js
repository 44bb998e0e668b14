// Which heads can go: how much worse the network gets by each score, and which heads it removes.
(() => {
  const { el } = Haarbor;
  const COLOURS = "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #7a3db8 #8c564b".split(" ");
  const SYMBOLS = "circle square diamond triangle-up triangle-down cross star x".split(" ");
  const DONE = {
    refit: "the rest of each layer is refitted",
    mean: "removed heads are replaced by their mean",
    zero: "removed heads are replaced by zero",
  };
  const HEIGHT = 340;
  const LEAST_HEIGHT = 220;
  const ROW = 22;

  const colourOf = (name, place) => (name === "random" ? null : COLOURS[place % COLOURS.length]);
  const percent = (share) => `${Haarbor.number(100 * share, 3)} %`;

  const headsWord = (count) => `${count} head${count === 1 ? "" : "s"}`;

  function damageChart(found, theme) {
    const x = found.shares.map((share) => 100 * share);
    const traces = found.scores.map(({ name, values, errors }, place) => {
      const colour = colourOf(name, place) ?? theme.pale;
      return {
        type: "scatter",
        mode: "lines+markers",
        name,
        x,
        y: values,
        error_y: { type: "data", array: errors, visible: true, thickness: 1.2, width: 3, color: colour },
        line: {
          color: colour,
          width: name === found.score ? 3 : 1.8,
          dash: name === "random" ? "dot" : "solid",
        },
        marker: { color: colour, symbol: SYMBOLS[place % SYMBOLS.length], size: 7 },
        customdata: values.map((_, i) => [found.n_removed[i], errors[i]]),
        hovertemplate:
          `${name}, %{customdata[0]} heads (%{x:.3g} %): %{y:.4g} ± %{customdata[1]:.2g}` + "<extra></extra>",
      };
    });
    if (found.healing) {
      const sign = found.higher_is_better ? -1 : 1;
      traces.push({
        type: "scatter",
        mode: "markers",
        name: "healed",
        x: [x[found.place]],
        y: [found.baseline + sign * found.healing.damage],
        error_y: { type: "data", array: [found.healing.error], visible: true, color: theme.ink },
        marker: { symbol: "square-open", size: 11, color: theme.ink, line: { width: 2 } },
        hovertemplate: `${found.score}, healed by ${found.healing.steps} steps: %{y:.4g}<extra></extra>`,
      });
    }
    return {
      traces,
      layout: {
        showlegend: false,
        xaxis: { title: { text: "% of the heads removed" }, zeroline: false },
        yaxis: { title: { text: found.metric }, zeroline: false },
        shapes: [
          {
            type: "line",
            xref: "paper",
            x0: 0,
            x1: 1,
            y0: found.baseline,
            y1: found.baseline,
            line: { color: theme.pale, width: 1, dash: "dash" },
          },
        ],
      },
    };
  }

  function headsChart(run, found, score, theme) {
    const chosen = run.state.get("chosen");
    const place = found.scores.findIndex(({ name }) => name === score);
    const { removed } = found.scores[place];
    const heads = [...run.names.keys()];
    const ofRemoved = (yes, no) => heads.map((head) => (removed[head] ? yes : no));
    return {
      traces: [
        {
          type: "scatter",
          mode: "markers",
          x: heads.map(run.layerOf),
          y: heads.map(run.numberInLayer),
          customdata: heads,
          text: heads.map((head) => `${run.names[head]}: ${removed[head] ? "goes" : "stays"}`),
          marker: {
            symbol: ofRemoved("x", "square"),
            size: ofRemoved(12, 12),
            color: ofRemoved(theme.mark, theme.pale),
            opacity: ofRemoved(1, 0.45),
            line: { width: heads.map((head) => (head === chosen ? 3 : 0)), color: theme.accent },
          },
          hovertemplate: "%{text}<extra></extra>",
        },
      ],
      layout: {
        showlegend: false,
        xaxis: {
          zeroline: false,
          showgrid: false,
          range: [-0.6, run.data.layers - 0.4],
          dtick: Math.ceil(run.data.layers / 16),
          title: { text: "layer" },
        },
        yaxis: {
          zeroline: false,
          showgrid: false,
          range: [run.data.heads_per_layer - 0.4, -0.6],
          dtick: Math.ceil(run.data.heads_per_layer / 16),
          title: { text: "head" },
        },
      },
    };
  }

  function told(value, error) {
    return error === null || error === undefined
      ? Haarbor.number(value, 4)
      : `${Haarbor.number(value, 4)} ± ${Haarbor.number(error, 2)}`;
  }

  /** A row per score and a column per share; what was healed has a row of its own, and is never mixed in. */
  function table(found) {
    const headings = [
      "score",
      ...found.shares.map((share, i) => `${headsWord(found.n_removed[i])}, ${percent(share)}`),
      "halves agree",
    ];
    const cells = ({ values, errors, agreement }) => [
      ...values.map((value, i) => el("td", {}, told(value, errors[i]))),
      el("td", {}, agreement === null || agreement === undefined ? "" : Haarbor.number(agreement, 2)),
    ];
    const rows = found.scores.map((score) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, score.name === found.score ? `${score.name} (recommended)` : score.name),
        cells(score),
      ),
    );
    if (found.healing) {
      const sign = found.higher_is_better ? -1 : 1;
      const healed = found.shares.map((_, i) =>
        el(
          "td",
          {},
          i === found.place ? told(found.baseline + sign * found.healing.damage, found.healing.error) : "",
        ),
      );
      rows.push(
        el(
          "tr",
          {},
          el("th", { scope: "row" }, `${found.score}, healed by ${found.healing.steps} steps`),
          healed,
          el("td", {}),
        ),
      );
    }
    return el(
      "div",
      { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Damage by score" },
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            headings.map((heading) => el("th", { scope: "col" }, heading)),
          ),
        ),
        el("tbody", {}, rows),
      ),
    );
  }

  function addTables(run, found) {
    Haarbor.addTable(run, {
      name: "pruning",
      title: "Damage by the number of heads removed",
      columns: ["score", "heads_removed", "share", found.metric, "standard_error", "recommended"],
      rows: () =>
        found.scores.flatMap(({ name, values, errors }) =>
          values.map((value, i) => [
            name,
            found.n_removed[i],
            found.shares[i],
            value,
            errors[i],
            name === found.score,
          ]),
        ),
    });
    Haarbor.addTable(run, {
      name: "pruned-heads",
      title: "Heads that each score removes at the budget",
      columns: ["layer", "head", ...found.scores.map(({ name }) => name)],
      rows: () =>
        run.names.map((_, head) => [
          run.layerOf(head),
          run.numberInLayer(head),
          ...found.scores.map(({ removed }) => (removed[head] ? "goes" : "stays")),
        ]),
    });
  }

  function draw(run, side, found) {
    addTables(run, found);
    const curves = el("div", {});
    const grid = el("div", {});
    let score = found.score;
    Haarbor.chart(curves, HEIGHT, (theme) => damageChart(found, theme));
    const height = Math.max(LEAST_HEIGHT, 90 + ROW * run.data.heads_per_layer);
    const heads = Haarbor.chart(
      grid,
      height,
      (theme) => headsChart(run, found, score, theme),
      Haarbor.linkedToHeads(run, (point) => point.customdata),
    );
    run.state.on(["chosen"], heads.redraw);
    const choice = Haarbor.choice(
      "Score",
      found.scores.map(({ name }) => [name, name === found.score ? `${name} (recommended)` : name]),
      score,
      (value) => {
        score = value;
        heads.redraw();
      },
    );
    const better = found.higher_is_better ? "higher" : "lower";
    side.append(
      el("p", { class: "lead" }, found.verdict.join(" ")),
      el(
        "div",
        { class: "two" },
        Haarbor.figure(
          run.id("pruning-damage"),
          "Damage by score",
          `${found.metric}, ${better} is better; ${DONE[found.replacement] ?? found.replacement}. ` +
            "Dashed: the whole network. Bars are standard errors." +
            (found.healing ? " Open square: the recommended score, healed." : ""),
          Haarbor.controls(Haarbor.tableButton(run, "pruning")),
          Haarbor.swatches(
            found.scores.map(({ name }, place) => [colourOf(name, place) ?? "var(--pale)", name]),
          ),
          curves,
        ),
        Haarbor.figure(
          run.id("pruned-heads"),
          `Removed: ${headsWord(found.n_removed[found.place])}`,
          "Crosses go, squares stay. Click one to open it.",
          Haarbor.controls(choice, Haarbor.tableButton(run, "pruned-heads")),
          grid,
        ),
      ),
      table(found),
      el("p", { class: "note" }, found.data),
    );
  }

  Haarbor.sections.pruning = { title: "Pruning", draw };
})();
