// The network against others: which heads correspond, and how far layers and heads are apart.
(() => {
  const { el } = Haarbor;
  const MEASURES = [
    ["distance", "Distance, over chance"],
    ["cka", "Linear CKA"],
    ["cka_other_tokens", "Linear CKA on other tokens"],
  ];
  const HEIGHT = 320;
  // More pairs than this are a list to choose from.
  const N_BUTTONS = 4;

  const wholeTicks = (nLayers) => ({ tick0: 0, dtick: Math.max(1, Math.ceil(nLayers / 16)) });

  function layersChart(pair, measure, theme) {
    const values = pair.layers[measure];
    const known = values.flat().filter((value) => value !== null);
    const [, label] = MEASURES.find(([name]) => name === measure);
    return {
      traces: [
        {
          type: "heatmap",
          z: values,
          zmin: Math.min(0, ...known),
          zmax: Math.max(1, ...known),
          colorscale: "Cividis",
          // The lighter, the more alike: distances run the other way than alignments.
          reversescale: measure === "distance",
          xgap: 1,
          ygap: 1,
          colorbar: Haarbor.colourBar(theme),
          hovertemplate: `layers %{y} and %{x}: %{z:.3f}<extra>${label}</extra>`,
        },
      ],
      layout: {
        xaxis: {
          ...wholeTicks(values[0].length),
          title: { text: Haarbor.chartText(`layer, ${pair.names[1]}`) },
          showgrid: false,
        },
        yaxis: {
          ...wholeTicks(values.length),
          title: { text: Haarbor.chartText(`layer, ${pair.names[0]}`) },
          autorange: "reversed",
          showgrid: false,
        },
      },
    };
  }

  function headsChart(pair, theme) {
    const layers = pair.heads[0].map((name) => Number(name.split(".")[0]));
    const known = pair.matched || pair.entropies[1];
    return {
      traces: [
        {
          type: "scatter",
          mode: "markers",
          x: pair.matched ? pair.heads[0] : pair.entropies[0],
          y: known,
          text: pair.heads[0].map((name, i) => `${name} and ${pair.heads[1][i]}`),
          marker: {
            size: 8,
            color: layers,
            colorscale: "Cividis",
            showscale: Math.max(...layers) > 0,
            colorbar: { ...Haarbor.colourBar(theme, "layer"), ...wholeTicks(Math.max(...layers)) },
            line: { width: 0.6, color: theme.pale },
          },
          hovertemplate: "%{text}: %{y:.3f}<extra></extra>",
        },
      ],
      layout: pair.matched
        ? {
            xaxis: { title: { text: "head" }, type: "category", nticks: 12 },
            yaxis: { title: { text: "distance to its match, over chance" }, rangemode: "tozero" },
            shapes: [
              {
                type: "line",
                xref: "paper",
                x0: 0,
                x1: 1,
                y0: 1,
                y1: 1,
                line: { color: theme.pale, dash: "dot" },
              },
            ],
          }
        : {
            xaxis: { title: { text: Haarbor.chartText(`entropy, ${pair.names[0]}`) } },
            yaxis: { title: { text: Haarbor.chartText(`entropy of its match, ${pair.names[1]}`) } },
          },
    };
  }

  function addTables(run, found) {
    Haarbor.addTable(run, {
      name: "matched-heads",
      title: "Heads of this network and those of others that they are matched with",
      columns: [
        "first",
        "second",
        "head",
        "matched_head",
        "distance_over_chance",
        "entropy",
        "matched_entropy",
      ],
      rows: () =>
        found.pairs.flatMap((pair) =>
          pair.heads[0].map((name, i) => [
            ...pair.names,
            name,
            pair.heads[1][i],
            pair.matched ? pair.matched[i] : null,
            pair.entropies[0][i],
            pair.entropies[1][i],
          ]),
        ),
    });
  }

  function draw(run, side, found) {
    let pair = found.pairs[0];
    let measure = "distance";
    const words = el("p", { class: "lead" });
    const layersNode = el("div", {});
    const headsNode = el("div", {});
    const tell = () => Haarbor.put(Haarbor.emptied(words), pair.verdict.join(" "));
    const hasLayers = found.pairs.some((one) => one.layers.distance);
    const heads = Haarbor.chart(
      headsNode,
      HEIGHT,
      (theme) => headsChart(pair, theme),
      (node) =>
        node.on("plotly_click", (event) => {
          if (pair.is_own) {
            run.choose(pair.places[event.points[0].pointIndex]);
          }
        }),
    );
    const layers = hasLayers
      ? Haarbor.chart(layersNode, HEIGHT, (theme) =>
          pair.layers[measure] ? layersChart(pair, measure, theme) : { traces: [], layout: {} },
        )
      : null;
    const redraw = () => {
      tell();
      heads.redraw();
      layers?.redraw();
    };
    tell();
    addTables(run, found);
    side.append(words);
    if (found.pairs.length > 1) {
      const names = found.pairs.map((one, i) => [String(i), one.names.join(" and ")]);
      const control = names.length > N_BUTTONS ? Haarbor.select : Haarbor.choice;
      const choice = control("Networks", names, "0", (value) => {
        pair = found.pairs[Number(value)];
        redraw();
      });
      side.append(Haarbor.controls(choice));
    }
    const headsFigure = Haarbor.figure(
      run.id("matched-heads"),
      pair.matched ? "Matched heads" : "Entropies of matched heads",
      pair.matched
        ? "Every point is a head and its match. 0 is the same attention; the dotted line is chance."
        : "Every point is a head and its match. The networks saw different tokens.",
      Haarbor.controls(Haarbor.tableButton(run, "matched-heads")),
      headsNode,
    );
    if (!layers) {
      side.append(headsFigure);
      return;
    }
    const offered = MEASURES.filter(([name]) => found.pairs.some((one) => one.layers[name]));
    const layersFigure = Haarbor.figure(
      run.id("matched-layers"),
      "Layer against layer",
      "The lighter, the more alike.",
      Haarbor.controls(
        Haarbor.choice("Measure of layers", offered, measure, (value) => {
          measure = value;
          layers.redraw();
        }),
      ),
      layersNode,
    );
    side.append(el("div", { class: "two" }, layersFigure, headsFigure));
  }

  Haarbor.sections.networks = { title: "Compared with other networks", draw };
})();
