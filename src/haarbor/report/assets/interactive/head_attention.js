// The attention of the chosen head, as a matrix in the original and in the organised order.
(() => {
  const { el } = Haarbor;
  const BRIGHTEST = [
    ["usual", "Most entries"],
    ["largest", "Up to the largest"],
  ];

  /** Labels of blocks of tokens: the first token of each. */
  function blockLabels(labels, block) {
    if (block === 1) {
      return labels;
    }
    const found = [];
    for (let i = 0; i < labels.length; i += block) {
      found.push(Haarbor.tokenText(labels[i], 8) + (i + 1 < labels.length ? "\u2026" : ""));
    }
    return found;
  }

  /** Where the folders of a level meet, in cells; none on level 0, which is all in one folder. */
  function folderBorders(folders, level, block) {
    if (level === 0) {
      return [];
    }
    const sizes = folders[Math.min(level, folders.length - 1)] || [];
    let end = 0;
    return sizes.slice(0, -1).map((size) => {
      end += size;
      return end / block;
    });
  }

  function moved(items, order) {
    return order.map((i) => items[i]);
  }

  function movedMask(mask, { query, key }) {
    const found = new Uint8Array(mask.length);
    for (let i = 0; i < found.length; i++) {
      const row = query[Math.floor(i / key.length)];
      found[i] = mask[row * key.length + key[i % key.length]];
    }
    return found;
  }

  /** What is said below the matrices about how exactly they are kept and coloured. */
  function qualityWords({ block, masked, quantisation, query_kinds: kinds }) {
    const error = Haarbor.number(quantisation.largest_error, 2);
    const sentences = [
      block > 1 ? `Each cell is the mean of ${block} x ${block} entries.` : null,
      `Entries are kept in one byte; the largest error of any entry of this batch is ${error}.`,
      masked ? "Grey entries are masked." : null,
      Haarbor.kindBorders(kinds, block).length
        ? "Lines in the original order part tokens of different kinds, such as prompt and answer."
        : null,
      quantisation.power === 2 ? "Colours follow the square root of the value." : null,
    ];
    return sentences.filter(Boolean).join(" ");
  }

  /** Descriptions of a head for the two matrix views; see drawing/matrix_view.js. */
  function descriptions(shown, found, mask, colours, common, level) {
    const { orders, folders, block } = shown;
    const queries = shown.query_labels;
    const keys = shown.key_labels || queries;
    const original = {
      ...common,
      values: found.values,
      mask,
      rowLabels: blockLabels(queries, block),
      columnLabels: blockLabels(keys, block),
      rowColours: colours,
      columnColours: colours,
      rowBorders: Haarbor.kindBorders(shown.query_kinds, block),
      columnBorders: Haarbor.kindBorders(shown.key_kinds, block),
    };
    const organised = {
      ...common,
      values: found.organised,
      mask: mask && movedMask(mask, orders),
      rowLabels: blockLabels(moved(queries, orders.query), block),
      columnLabels: blockLabels(moved(keys, orders.key), block),
      rowColours: colours && moved(colours, orders.query),
      columnColours: colours && moved(colours, orders.key),
      rowBorders: folderBorders(folders.query, level, block),
      columnBorders: folderBorders(folders.key, level, block),
    };
    return [original, organised];
  }

  /** Pointing at an entry of one matrix marks it in both; picking one picks its query. */
  function link(state, shown, original, organised) {
    const { block } = shown;
    const { query, key } = shown.orders;
    const queryPlace = Haarbor.inverse(query);
    const keyPlace = Haarbor.inverse(key);
    // An entry here is that of the original order.
    const point = (entry) => {
      if (block === 1) {
        original.point(entry);
        organised.point(entry && [queryPlace[entry[0]], keyPlace[entry[1]]]);
      }
    };
    original.onPoint = point;
    organised.onPoint = (entry) => point(entry && [query[entry[0]], key[entry[1]]]);
    original.onPick = ([row]) => state.set({ query: row * block });
    organised.onPick = ([row]) => {
      if (block === 1) {
        state.set({ query: query[row] });
      }
    };
  }

  /** Function that gives the colours of the patches of a batch, the last ones remembered. */
  function rememberedColours(run) {
    let colours = null;
    let coloursOf = null;
    return async (place) => {
      if (coloursOf !== place) {
        const shown = run.data.shown[place];
        const picture = Haarbor.isOnPicture(shown) ? await Haarbor.pictureOf(run, place) : null;
        colours = picture && Haarbor.patchColours(picture, shown);
        coloursOf = place;
      }
      return colours;
    };
  }

  Haarbor.attention = (run) => {
    const { state } = run;
    const original = Haarbor.matrixView("Attention in the original order");
    const organised = Haarbor.matrixView("Attention in the organised order");
    const scale = Haarbor.scaleBar();
    const quality = el("p", { class: "note" });
    const coloursOf = rememberedColours(run);
    let request = 0;

    function showScale(found, top, isCut, power) {
      const tick = (share) => {
        const part = power === 2 ? share * share : share;
        return Haarbor.number(found.least + (top - found.least) * part);
      };
      scale.show(state.get("palette"), (share) =>
        share === 1 && isCut ? `${tick(1)} to ${Haarbor.number(found.largest)}` : tick(share),
      );
    }

    async function show() {
      request++;
      const turn = request;
      const place = state.get("place");
      const shown = run.data.shown[place];
      const { power } = shown.quantisation;
      const [found, mask] = await Promise.all([
        Haarbor.headMatrix(run, place, state.get("chosen")),
        Haarbor.maskOf(run, place),
      ]);
      const colours = await coloursOf(place);
      if (turn !== request) {
        return;
      }
      const isCut = state.get("bright") === "usual" && found.usual > found.least;
      const top = isCut ? found.usual : found.largest;
      const common = {
        rows: found.rows,
        columns: found.columns,
        least: found.least,
        largest: top,
        palette: state.get("palette"),
        root: power === 2,
      };
      const level = state.get("folderLevel");
      const [first, second] = descriptions(shown, found, mask, colours, common, level);
      original.show(first);
      organised.show(second);
      showScale(found, top, isCut, power);
      quality.textContent = qualityWords(shown);
      link(state, shown, original, organised);
    }

    const nLevels = Math.max(1, run.data.shown[0].folders.query.length);
    const levels = Array.from({ length: nLevels }, (_, i) => [String(i), i === 0 ? "none" : String(i)]);
    const folderLevel = Haarbor.select(
      "Folder lines at level",
      levels,
      String(state.get("folderLevel")),
      (value) => state.set({ folderLevel: Number(value) }),
    );
    const bright = Haarbor.choice("Brightest colour", BRIGHTEST, "usual", (value) =>
      state.set({ bright: value }),
    );
    state.on(["chosen", "place", "palette", "folderLevel", "bright"], () => {
      const shown = show();
      // The page counts as usable once the first head is there.
      run.opened = run.opened || shown;
    });
    return [
      Haarbor.controls(folderLevel, el("span", { class: "control" }, "Colours", bright)),
      el(
        "div",
        { class: "pair" },
        el("div", {}, el("h4", {}, "Original order"), original.node),
        el("div", {}, el("h4", {}, "Organised order"), organised.node),
      ),
      el("div", { class: "legend slim" }, scale.nodes),
      quality,
    ];
  };
})();
