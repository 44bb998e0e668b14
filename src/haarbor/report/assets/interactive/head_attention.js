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

  /** What is said below the matrices about how exactly they are kept and coloured. */
  function qualityWords(run, { block, masked, quantisation, query_kinds: kinds }) {
    const error = Haarbor.number(quantisation.largest_error, 2);
    const sentences = [
      block > 1 ? `Each cell is the mean of ${block} x ${block} entries.` : null,
      Haarbor.firstTokenWords(run) || null,
      `Entries are kept in ${quantisation.steps} steps; ` +
        `the largest error of any entry of this batch is ${error}.`,
      masked ? "Grey entries are masked." : null,
      Haarbor.kindBorders(kinds, block).length
        ? "Lines in the original order part tokens of different kinds, such as prompt and answer."
        : null,
      quantisation.power === 2 ? "Colours follow the square root of the value." : null,
    ];
    return sentences.filter(Boolean).join(" ");
  }

  /** What both orders of the matrix of a head need, as it is now to be shown. */
  Haarbor.gatheredHead = async (run, head) => {
    const place = run.state.get("place");
    const [found, mask, organisedMask, colours] = await Promise.all([
      Haarbor.shownMatrix(run, place, head),
      Haarbor.maskOf(run, place),
      Haarbor.organisedMaskOf(run, place),
      patchColours(run, place),
    ]);
    return { run, place, found, mask, organisedMask, colours };
  };

  /** The largest value that has a colour of its own; `isCut` where larger ones share it. */
  Haarbor.brightest = ({ run, found }) => {
    const isCut = run.state.get("bright") === "usual" && found.usual > found.least;
    return { isCut, top: isCut ? found.usual : found.largest };
  };

  /** Descriptions of a gathered head for matrix views (drawing/matrix_view.js), original and organised. */
  Haarbor.headDescriptions = ({ run, place, found, mask, organisedMask, colours }, top) => {
    const shown = run.data.shown[place];
    const { rows, columns, least } = found;
    const { orders, folders, block } = shown;
    const queries = shown.query_labels;
    const keys = shown.key_labels || queries;
    const level = run.state.get("folderLevel");
    const common = {
      rows,
      columns,
      least,
      largest: top,
      palette: run.state.get("palette"),
      root: shown.quantisation.power === 2,
      closed: run.state.get("firstToken") === "shown" ? "masked" : "masked or hidden",
    };
    const original = {
      ...common,
      values: found.values,
      mask: Haarbor.withFirstToken(run, mask, rows, columns, 0),
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
      mask: Haarbor.withFirstToken(run, organisedMask, rows, columns, orders.key.indexOf(0)),
      rowLabels: blockLabels(moved(queries, orders.query), block),
      columnLabels: blockLabels(moved(keys, orders.key), block),
      rowColours: colours && moved(colours, orders.query),
      columnColours: colours && moved(colours, orders.key),
      rowBorders: folderBorders(folders.query, level, block),
      columnBorders: folderBorders(folders.key, level, block),
    };
    return { original, organised };
  };

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

  const remembered = new Map();

  async function readPatchColours(run, place) {
    const shown = run.data.shown[place];
    const picture = Haarbor.isOnPicture(shown) ? await Haarbor.pictureOf(run, place) : null;
    return picture && Haarbor.patchColours(picture, shown);
  }

  /** Colours of the patches of a batch; null where it has no picture. */
  function patchColours(run, place) {
    const key = `${run.index}/${place}`;
    if (!remembered.has(key)) {
      remembered.set(key, readPatchColours(run, place));
    }
    return remembered.get(key);
  }

  Haarbor.attention = (run) => {
    const { state } = run;
    const original = Haarbor.matrixView("Attention in the original order");
    const organised = Haarbor.matrixView("Attention in the organised order");
    const scale = Haarbor.scaleBar();
    const quality = el("p", { class: "note" });
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
      const shown = run.data.shown[state.get("place")];
      quality.textContent = qualityWords(run, shown);
      const gathered = await Haarbor.gatheredHead(run, state.get("chosen"));
      if (turn !== request) {
        return;
      }
      const { top, isCut } = Haarbor.brightest(gathered);
      const descriptions = Haarbor.headDescriptions(gathered, top);
      original.show(descriptions.original);
      organised.show(descriptions.organised);
      showScale(gathered.found, top, isCut, shown.quantisation.power);
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
    const bright = Haarbor.stateChoice(state, "bright", "Brightest colour", BRIGHTEST);
    state.on(["chosen", "place", "palette", "folderLevel", "bright", "firstToken"], () => {
      const shown = show();
      // The page counts as usable once the first head is there.
      run.opened = run.opened || shown;
    });
    return [
      Haarbor.controls(
        folderLevel,
        el("span", { class: "control" }, "Colours", bright),
        Haarbor.firstTokenSelect(run),
      ),
      el(
        "div",
        { class: "pair matrices" },
        el("div", {}, el("h4", {}, "Original order"), original.node),
        el("div", {}, el("h4", {}, "Organised order"), organised.node),
      ),
      el("div", { class: "legend slim" }, scale.nodes),
      quality,
    ];
  };
})();
