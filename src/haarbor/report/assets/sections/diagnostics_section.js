// What each head looks at, in words: all heads by layer in the colours of their types, and a list of them.
(() => {
  const { el } = Haarbor;
  // One for each type that there can be, in the order of the list in _head_types.py.
  const COLOURS =
    "#7a3db8 #b86fd6 #0072b2 #56b4e9 #e69f00 #d55e00 #d55e00 #d55e00 #8c564b #8c564b #c44e52 #cc79a7 " +
    "#009e73 #9aa53a #1f8a8a #8a939c";
  const ALL = "all";
  const LISTED = [
    ["entropy", "Haar entropy"],
    ["attention-entropy", "attention entropy"],
    ["confidence", "confidence"],
    ["mean-distance", "mean distance"],
    ["previous-token", "previous token"],
    ["first-token", "first token"],
    ["attention-effective-rank", "effective rank"],
    ["similarity-to-nearest", "similarity to nearest"],
  ];
  const N_LISTED = 20;
  const LEAST_HEIGHT = 220;
  const ROW = 22;

  function typesChart(run, found, type, theme) {
    const colours = COLOURS.split(" ");
    const chosen = run.state.get("chosen");
    const traces = found.types.map(({ name }, place) => {
      const heads = [...run.names.keys()].filter((head) => found.of_heads[head] === place);
      const ofChosen = (yes, no) => heads.map((head) => (head === chosen ? yes : no));
      return {
        type: "scatter",
        mode: "markers",
        name,
        x: heads.map(run.layerOf),
        y: heads.map(run.numberInLayer),
        customdata: heads,
        text: heads.map(
          (head) => `${run.names[head]}: ${name} (${Haarbor.number(found.decided_at[head], 2)})`,
        ),
        marker: {
          symbol: "square",
          size: ofChosen(17, 13),
          color: colours[found.places[place]],
          opacity: type === ALL || type === name ? 1 : 0.12,
          line: { width: ofChosen(3, 0), color: theme.mark },
        },
        hovertemplate: "%{text}<extra></extra>",
      };
    });
    const perLayer = run.data.heads_per_layer;
    const plain = { zeroline: false, showgrid: false };
    return {
      traces,
      layout: {
        xaxis: {
          ...plain,
          range: [-0.6, run.data.layers - 0.4],
          dtick: Math.ceil(run.data.layers / 16),
          title: { text: "layer" },
        },
        yaxis: {
          ...plain,
          range: [perLayer - 0.4, -0.6],
          dtick: Math.ceil(perLayer / 16),
          title: { text: "head" },
        },
        showlegend: false,
      },
    };
  }

  /** Heads of a type, those with the largest number behind it first. */
  function headsOf(run, found, type) {
    const heads = [...run.names.keys()].filter(
      (head) => type === ALL || found.types[found.of_heads[head]].name === type,
    );
    return heads.sort(
      (a, b) => found.of_heads[a] - found.of_heads[b] || found.decided_at[b] - found.decided_at[a] || a - b,
    );
  }

  function listOf(run, found, type) {
    const scores = new Map(run.data.scores.map((score) => [score.name, score]));
    const columns = LISTED.filter(([name]) => scores.has(name));
    const heads = headsOf(run, found, type);
    const rows = heads.slice(0, N_LISTED).map((head) =>
      el(
        "tr",
        {},
        el("td", {}, run.chip(head)),
        el("td", {}, found.types[found.of_heads[head]].name),
        el("td", {}, Haarbor.number(found.decided_at[head], 2)),
        columns.map(([name]) => el("td", {}, Haarbor.number(scores.get(name).values[head]))),
      ),
    );
    const headings = ["head", "type", "how much", ...columns.map(([, words]) => words)];
    const more = heads.length - N_LISTED;
    return [
      el(
        "div",
        { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Heads and their figures" },
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
      ),
      more > 0 ? el("p", { class: "note" }, `${more} more are in the table that can be saved.`) : null,
    ];
  }

  function addTable(run, found) {
    Haarbor.addTable(run, {
      name: "head-types",
      title: "Type of every head, with the number behind it",
      columns: ["layer", "head", "type", "decided_by", "decided_at"],
      rows: () =>
        run.names.map((_, head) => [
          run.layerOf(head),
          run.numberInLayer(head),
          found.types[found.of_heads[head]].name,
          found.decided_by[head],
          found.decided_at[head],
        ]),
    });
  }

  function draw(run, side, found) {
    addTable(run, found);
    const counts = found.types.map((_, place) => found.of_heads.filter((of) => of === place).length);
    let type = ALL;
    const node = el("div", {});
    const list = el("div", {});
    const meaning = el("p", { class: "note", "aria-live": "polite" });
    const height = Math.max(LEAST_HEIGHT, 90 + ROW * run.data.heads_per_layer);
    const chart = Haarbor.chart(
      node,
      height,
      (theme) => typesChart(run, found, type, theme),
      Haarbor.linkedToHeads(run, (point) => point.customdata),
    );
    run.state.on(["chosen"], chart.redraw);
    function show(name) {
      type = name;
      const known = found.types.find((one) => one.name === name);
      meaning.textContent = known ? known.meaning : "Choose a type to see its heads alone.";
      list.replaceChildren(...listOf(run, found, type).filter(Boolean));
      chart.redraw();
    }
    const options = [
      [ALL, `all ${run.nHeads}`],
      ...found.types.map(({ name }, place) => [name, `${name} ${counts[place]}`]),
    ];
    const choice = Haarbor.choice("Type", options, ALL, show);
    show(ALL);
    const swatches = found.types.map(({ name }, place) => [COLOURS.split(" ")[found.places[place]], name]);
    side.append(
      el("p", { class: "lead" }, leadWords(found, counts)),
      Haarbor.figure(
        run.id("head-types"),
        "Heads by type",
        "Every square is a head. Click one to open it.",
        Haarbor.controls(choice, Haarbor.tableButton(run, "head-types")),
        meaning,
        Haarbor.swatches(swatches),
        node,
        list,
      ),
    );
    if (found.depths) {
      side.append(depthFigures(run, found.depths));
    }
  }

  function depthChart(traces, title, type) {
    return (theme) => ({
      traces: traces.map(([name, values, colour]) => ({
        type: "scatter",
        mode: "lines+markers",
        name,
        x: [...values.keys()],
        y: values,
        marker: { color: theme[colour] },
        line: { color: theme[colour] },
        hovertemplate: `${name} after %{x} layers: %{y:.3g}<extra></extra>`,
      })),
      layout: {
        xaxis: { title: { text: "layers passed" }, zeroline: false },
        yaxis: { title: { text: title }, type },
        showlegend: false,
      },
    });
  }

  /** Massive activations and over-smoothing, where the network itself was measured. */
  function depthFigures(run, { largest, median, cosine }) {
    const sizes = el("div", {});
    const alike = el("div", {});
    const both = [
      ["largest", largest, "mark"],
      ["median", median, "accent"],
    ];
    Haarbor.chart(sizes, LEAST_HEIGHT, depthChart(both, "size of an entry", "log"));
    Haarbor.chart(
      alike,
      LEAST_HEIGHT,
      depthChart([["mean cosine", cosine, "accent"]], "mean cosine", "linear"),
    );
    Haarbor.addTable(run, {
      name: "token-depths",
      title: "Entries of the tokens and their mean cosine, by depth",
      columns: ["layers_passed", "largest", "median", "cosine"],
      rows: () => largest.map((value, depth) => [depth, value, median[depth], cosine[depth]]),
    });
    const button = () => Haarbor.controls(Haarbor.tableButton(run, "token-depths"));
    const swatches = both.map(([name, , colour]) => [`var(--${colour})`, `${name} entry`]);
    return el(
      "div",
      { class: "two" },
      Haarbor.figure(
        run.id("massive"),
        "Largest entries of the tokens",
        "Far above the median: massive activations. Medians over the inputs.",
        button(),
        Haarbor.swatches(swatches),
        sizes,
      ),
      Haarbor.figure(
        run.id("smoothing"),
        "How alike tokens become",
        "Mean cosine of two tokens; 1 is over-smoothing to a single direction.",
        button(),
        alike,
      ),
    );
  }

  function leadWords(found, counts) {
    const order = [...counts.keys()].sort((a, b) => counts[b] - counts[a] || a - b);
    const told = order.slice(0, 3).map((place) => `${counts[place]} \u201c${found.types[place].name}\u201d`);
    const words = told.length > 1 ? `${told.slice(0, -1).join(", ")} and ${told.at(-1)}` : told[0];
    return `The most frequent types of heads: ${words}. A type is named by where most of the attention goes.`;
  }

  /** Colour of the type at a place of the list in _head_types.py. */
  Haarbor.typeColour = (place) => COLOURS.split(" ")[place];

  Haarbor.sections.diagnostics = { title: "Types of heads", draw };
})();
