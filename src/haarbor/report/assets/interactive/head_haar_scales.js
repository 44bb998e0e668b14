// Haar coefficients of the chosen head by scale: by the size of the pieces, and by level of the two trees.
(() => {
  const { el, between } = Haarbor;
  const MOST_WIDTH = 420;
  const LEFT = 26;
  const TOP = 20;
  const BY_SIZE = "By size of the pieces, as a share of the matrix: coarse to fine.";
  const BY_LEVEL = "By level of the query tree (down) and the key tree (across); \u00f8 is the constant.";

  function sharesOf(row) {
    const total = Haarbor.sum(row) || 1;
    return Array.from(row, (value) => value / total);
  }

  /** Shares of the sizes of pieces, mean over heads. */
  function meanShares(scales, nHeads) {
    const found = new Array(scales.octaves).fill(0);
    for (let head = 0; head < nHeads; head++) {
      sharesOf(scales.byOctave(head)).forEach((share, octave) => {
        found[octave] += share / nHeads;
      });
    }
    return found;
  }

  function sizeName(octave) {
    return octave === 0 ? "1/2 to 1" : `1/${2 ** (octave + 1)}`;
  }

  function sizeChart(ofHead, ofAll, theme) {
    const sizes = ofAll.map((_, octave) => sizeName(octave));
    return {
      traces: [
        {
          x: sizes,
          y: ofHead,
          type: "bar",
          name: "this head",
          marker: { color: theme.accent },
          hovertemplate: "pieces of %{x} of the matrix: %{y:.1%}<extra></extra>",
        },
        {
          x: sizes,
          y: ofAll,
          type: "scatter",
          mode: "lines+markers",
          name: "all heads",
          line: { color: theme.mark, width: 2 },
          marker: { size: 5 },
          hovertemplate: "mean of all heads: %{y:.1%}<extra></extra>",
        },
      ],
      layout: {
        xaxis: {
          title: { text: "share of the matrix" },
          tickangle: -45,
          type: "category",
        },
        yaxis: { title: { text: "share of |coefficients|" }, tickformat: ".0%" },
      },
    };
  }

  Haarbor.haarScales = (run) => {
    const { state } = run;
    const canvas = el("canvas", {
      role: "img",
      "aria-label": "Sums of absolute Haar coefficients by level of the query tree and of the key tree",
    });
    const levels = el("div", {}, el("p", { class: "note" }, BY_LEVEL), canvas);
    const bars = el("div", {});
    let place = -1;
    let scales = null;
    let ofAll = null;
    const chart = Haarbor.chart(bars, 250, describe);

    /** Numbers of rows and columns, which are known before the numbers in them. */
    function sizes() {
      const { query_levels: queries, key_levels: keys } = run.data.shown[state.get("place")].scales;
      return { rows: queries.length + 1, columns: keys.length + 1 };
    }
    function cellSize(width) {
      const wide = (width - LEFT) / sizes().columns;
      return { wide, tall: between(wide, 16, 26) };
    }

    const drawing = Haarbor.drawing({
      canvas,
      host: levels,
      sizeIn(hostWidth) {
        const width = Math.min(hostWidth, MOST_WIDTH);
        return [width, TOP + cellSize(width).tall * sizes().rows];
      },
      draw(context, theme, width) {
        if (!scales) {
          return;
        }
        const { wide, tall } = cellSize(width);
        const values = scales.byLevel(state.get("chosen"));
        // The constant holds the mean of the matrix; the others would be dark beside it.
        const most = Math.max(...values.subarray(1));
        const palette = state.get("palette");
        context.font = "11px system-ui, sans-serif";
        context.textBaseline = "middle";
        context.textAlign = "right";
        context.fillStyle = theme.pale;
        for (let row = 0; row < scales.rows; row++) {
          context.fillText(scales.rowName(row), LEFT - 5, TOP + tall * (row + 0.5));
        }
        context.textAlign = "center";
        for (let column = 0; column < scales.columns; column++) {
          context.fillText(scales.columnName(column), LEFT + (column + 0.5) * wide, TOP / 2);
        }
        values.forEach((value, i) => {
          const row = Math.floor(i / scales.columns);
          const column = i % scales.columns;
          const share = Math.sqrt(Math.min(1, value / (most || 1)));
          context.fillStyle = Haarbor.colour(share, palette);
          context.fillRect(LEFT + column * wide, TOP + row * tall, wide - 1, tall - 1);
          if (wide > 34) {
            const text = value < 1e-4 * most ? "0" : Haarbor.number(value, 2);
            context.fillStyle = Haarbor.inkOn(share, palette);
            context.fillText(text, LEFT + (column + 0.5) * wide, TOP + tall * (row + 0.5));
          }
        });
      },
    });

    canvas.addEventListener("pointermove", (event) => {
      if (!scales) {
        return;
      }
      const { wide, tall } = cellSize(canvas.clientWidth);
      const [x, y] = Haarbor.placeOn(canvas, event);
      const column = Math.floor((x - LEFT) / wide);
      const row = Math.floor((y - TOP) / tall);
      if (row < 0 || column < 0 || row >= scales.rows || column >= scales.columns) {
        Haarbor.tooltip.hide();
        return;
      }
      const value = scales.byLevel(state.get("chosen"))[row * scales.columns + column];
      Haarbor.tooltip.text(
        event,
        `query level ${scales.rowName(row)}, key level ${scales.columnName(column)}`,
        `sum of |coefficients|: ${Haarbor.number(value)}`,
      );
    });
    canvas.addEventListener("pointerleave", Haarbor.tooltip.hide);

    async function load() {
      if (place === state.get("place")) {
        return;
      }
      place = state.get("place");
      const wanted = place;
      const found = await Haarbor.scalesOf(run, wanted);
      if (wanted === place) {
        scales = found;
        ofAll = meanShares(scales, run.nHeads);
      }
    }
    function describe(theme) {
      if (!scales) {
        return { traces: [], layout: {} };
      }
      const ofHead = sharesOf(scales.byOctave(state.get("chosen")));
      return sizeChart(ofHead, ofAll, theme);
    }
    state.on(["chosen", "place", "palette"], async () => {
      await load();
      drawing.now();
      chart.redraw();
    });
    Haarbor.addScalesTable(run);
    const pair = el(
      "div",
      { class: "pair scales" },
      el(
        "div",
        {},
        el("p", { class: "note" }, BY_SIZE),
        Haarbor.swatches([
          ["var(--accent)", "this head"],
          ["var(--mark)", "mean of all heads"],
        ]),
        bars,
      ),
      levels,
    );
    const controls = Haarbor.controls(Haarbor.tableButton(run, "haar-scales"));
    return Haarbor.figure(
      run.id("haar-scales"),
      "Haar coefficients by scale",
      null,
      controls,
      el("div", {}, pair),
    );
  };
})();
