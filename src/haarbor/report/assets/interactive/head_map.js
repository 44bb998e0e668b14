// Layer x head grid in the colours of a score.
(() => {
  const { el } = Haarbor;
  const ORDERS = [
    ["grid", "by layer and head"],
    ["layer", "by score in each layer"],
    ["score", "by score, all heads"],
    ["tree", "in tree order"],
  ];
  const CELLS = [
    ["colours", "Colours"],
    ["pictures", "Pictures"],
  ];
  const SCALES = [
    ["values", "by value"],
    ["ranks", "by rank"],
  ];
  const COMMON = ["common", "common to both"];
  const KEYS =
    "Click a head to open it below. Shift-click several, or drag a rectangle over them, to compare them. " +
    "Keys: arrows move, Enter opens, Space adds to the comparison, Shift with arrows compares a rectangle.";
  // Layers stand side by side where there are more of them than heads in each and they fit.
  const AXIS_WIDTH = 52;
  const LEAST_CELL = 12.5;

  function headCell(run, head) {
    const { state } = run;
    return el(
      "button",
      {
        type: "button",
        class: "head",
        role: "gridcell",
        tabIndex: -1,
        "data-head": head,
        on: {
          ...run.reaction(head),
          focus: () => state.set({ hovered: head }),
          blur: () => state.set({ hovered: null }),
        },
      },
      el("span", {}, run.names[head]),
    );
  }

  function axisLabel(text, kind) {
    return el("div", { class: `axis ${kind}`, "aria-hidden": "true" }, text);
  }

  /** The cells of all heads in a grid that can be laid out in several orders. */
  function headGrid(run) {
    const { state, data } = run;
    const perLayer = data.heads_per_layer;
    const grid = el("div", { class: "head-grid", role: "grid", "aria-label": "Heads, coloured by score" });
    const cells = run.names.map((_, head) => headCell(run, head));
    let mode = state.get("order");
    let anchor = null;
    let hasPictures = false;
    let isAcross = false;
    let shownOrder = [];
    // How every cell is marked: pointing changes few of them, and the others need not be touched.
    const marks = [];

    function isFlowing() {
      return mode === "score" || mode === "tree";
    }

    function byScore(heads) {
      const { values } = run.score();
      return [...heads].sort((a, b) => (values[b] ?? -Infinity) - (values[a] ?? -Infinity) || a - b);
    }

    function layOut() {
      grid.replaceChildren(frame);
      grid.classList.toggle("flow", isFlowing());
      if (isFlowing()) {
        isAcross = false;
        shownOrder = mode === "tree" ? data.geometry.order : byScore(cells.keys());
        grid.style.gridTemplateColumns = "";
        grid.append(...shownOrder.map((head) => cells[head]));
      } else {
        layOutByLayer();
      }
      paint();
    }

    function layOutByLayer() {
      const layers = Array.from({ length: data.layers }, (_, layer) => {
        const heads = Array.from({ length: perLayer }, (__, number) => layer * perLayer + number);
        return mode === "layer" ? byScore(heads) : heads;
      });
      const headLabel = (number) => (mode === "grid" ? String(number) : `#${number + 1}`);
      const cellWidth = (grid.clientWidth - AXIS_WIDTH) / data.layers;
      isAcross = data.layers > perLayer && cellWidth >= LEAST_CELL;
      shownOrder = layers.flat();
      const nColumns = isAcross ? data.layers : perLayer;
      grid.style.gridTemplateColumns = `minmax(2.6rem, auto) repeat(${nColumns}, minmax(0, 1fr))`;
      if (isAcross) {
        grid.append(axisLabel("layer", "corner"));
        layers.forEach((_, layer) => grid.append(axisLabel(String(layer), "top")));
        for (let number = 0; number < perLayer; number++) {
          const text = headLabel(number);
          grid.append(axisLabel(number === 0 ? `head ${text}` : text, "left"));
          layers.forEach((heads) => grid.append(cells[heads[number]]));
        }
      } else {
        grid.append(axisLabel("head", "corner"));
        layers[0].forEach((_, number) => grid.append(axisLabel(headLabel(number), "top")));
        layers.forEach((heads, layer) => {
          grid.append(axisLabel(layer === 0 ? "layer 0" : String(layer), "left"));
          grid.append(...heads.map((head) => cells[head]));
        });
      }
    }

    function paint() {
      const shares = run.shares();
      const palette = state.get("palette");
      const score = run.score();
      cells.forEach((cell, head) => {
        const value = Haarbor.number(score.values[head]);
        cell.style.setProperty("--fill", Haarbor.colour(shares[head], palette));
        cell.style.setProperty("--text", Haarbor.inkOn(shares[head], palette));
        cell.setAttribute("aria-label", `${run.headWords(head)}: ${score.label} ${value}`);
        const picture = cell.querySelector("canvas");
        if (hasPictures && !picture) {
          cell.prepend(Haarbor.thumbnail(run, head, 40));
        }
        if (!hasPictures && picture) {
          picture.remove();
        }
      });
      grid.classList.toggle("pictures", hasPictures);
    }

    /** The head that an arrow key leads to from another. */
    function neighbour(head, key) {
      let nColumns = perLayer;
      if (isFlowing()) {
        const top = cells[shownOrder[0]].offsetTop;
        nColumns = Math.max(
          1,
          shownOrder.findIndex((other) => cells[other].offsetTop > top),
        );
      }
      const across = isAcross ? perLayer : 1;
      const down = isAcross ? 1 : nColumns;
      const steps = { ArrowLeft: -across, ArrowRight: across, ArrowUp: -down, ArrowDown: down };
      return shownOrder[shownOrder.indexOf(head) + steps[key]];
    }

    function mark({ hovered, chosen, brushed }) {
      const isBrushed = new Set(brushed);
      cells.forEach((cell, head) => {
        const now = `${head === hovered} ${head === chosen} ${isBrushed.has(head)}`;
        if (marks[head] === now) {
          return;
        }
        marks[head] = now;
        cell.classList.toggle("hovered", head === hovered);
        cell.classList.toggle("chosen", head === chosen);
        cell.classList.toggle("brushed", isBrushed.has(head));
        cell.setAttribute("aria-selected", String(head === chosen));
        cell.tabIndex = head === chosen ? 0 : -1;
      });
    }

    grid.addEventListener("keydown", (event) => {
      const head = Number(event.target.dataset.head);
      const next = neighbour(head, event.key);
      if (next !== undefined) {
        cells[next].focus();
        anchor = event.shiftKey ? (anchor ?? head) : null;
        if (anchor !== null) {
          run.brush(Haarbor.headsBetween(cells, anchor, next));
        }
        event.preventDefault();
      }
      if (event.key === " ") {
        run.toggle(head);
        event.preventDefault();
      }
    });
    const frame = Haarbor.brushByDrawing(run, grid, cells);
    state.on(["hovered", "chosen", "brushed"], mark);
    state.on(["score", "palette", "scaleBy"], () => {
      if (!grid.isConnected) {
        return;
      }
      if (mode === "grid") {
        paint();
      } else {
        layOut();
      }
    });
    state.on(["order"], ({ order }) => {
      mode = order;
      if (grid.isConnected) {
        layOut();
      }
    });
    state.on(["place"], () => {
      if (hasPictures) {
        cells.forEach((cell) => cell.querySelector("canvas")?.remove());
        paint();
      }
    });
    Haarbor.onWidth(grid, layOut);
    return {
      node: grid,
      setCells(kind) {
        hasPictures = kind === "pictures";
        paint();
      },
    };
  }

  function scoreSelect(run) {
    const options = run.data.scores.map((score) => [score.name, score.label]);
    return Haarbor.stateSelect(run.state, "score", "Score", options);
  }

  function addTables(run) {
    const { data } = run;
    const { geometry, scores } = data;
    const ofBatches = scores.filter((score) => score.by_batch);
    Haarbor.addTable(run, {
      name: "heads",
      title: "Heads: scores, diffusion coordinates and nearest head",
      columns: [
        "layer",
        "head",
        ...scores.map((score) => score.name),
        "diffusion_1",
        "diffusion_2",
        "diffusion_3",
        "place_in_tree_order",
        "nearest_layer",
        "nearest_head",
        "nearest_distance",
      ],
      rows: () =>
        run.names.map((_, head) => {
          const [x, y, z] = geometry.coordinates[head];
          const [nearest] = geometry.nearest[head];
          return [
            run.layerOf(head),
            run.numberInLayer(head),
            ...scores.map((score) => score.values[head]),
            x,
            y,
            z,
            run.position[head],
            nearest === undefined ? null : run.layerOf(nearest),
            nearest === undefined ? null : run.numberInLayer(nearest),
            geometry.nearest_distances[head][0],
          ];
        }),
    });
    if (ofBatches.length) {
      Haarbor.addTable(run, {
        name: "scores-by-batch",
        title: "Scores of every head on every batch",
        columns: ["batch", "layer", "head", ...ofBatches.map((score) => score.name)],
        rows: () =>
          data.batches.flatMap((batch, b) =>
            run.names.map((_, head) => [
              batch,
              run.layerOf(head),
              run.numberInLayer(head),
              ...ofBatches.map((score) => score.by_batch[b][head]),
            ]),
          ),
      });
    }
  }

  Haarbor.HEAD_ORDERS = ORDERS.map(([order]) => order);

  Haarbor.headMap = (run, side) => {
    const { state } = run;
    const grid = headGrid(run);
    const palettes = Haarbor.PALETTES.map((name) => [name, name]);
    addTables(run);
    const controls = Haarbor.controls(
      scoreSelect(run),
      Haarbor.stateSelect(state, "order", "Order", ORDERS),
      Haarbor.choice("Cells", CELLS, "colours", grid.setCells),
      Haarbor.stateSelect(state, "scaleBy", "Scale", run.letter ? [COMMON, ...SCALES] : SCALES),
      Haarbor.stateSelect(state, "palette", "Palette", palettes),
      Haarbor.tableButton(run, "heads"),
    );
    side.append(
      Haarbor.figure(
        run.id("head-map"),
        "Head map",
        null,
        controls,
        el("div", { class: "map-and-legend" }, grid.node, Haarbor.headLegend(run)),
        el("p", { class: "note keys" }, KEYS),
      ),
    );
  };
})();
