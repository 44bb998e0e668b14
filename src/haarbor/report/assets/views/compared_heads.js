// Heads side by side: of each its matrix, and what it looks at in the text or in the picture.
(() => {
  const { el } = Haarbor;

  /** The picture of a batch with the weights of one head laid over it, for the patch in focus. */
  function comparedPicture(run) {
    const { state } = run;
    const canvas = el("canvas", { role: "img", "aria-label": "Attention of the head on the picture" });
    const words = el("p", { class: "note" });
    const node = el("div", { class: "on-image" }, canvas, words);
    let picture = null;
    let matrix = null;
    const shown = () => run.data.shown[state.get("place")];

    function weightOf(token, patch) {
      const [query, key] = state.get("direction") === "to" ? [token, patch] : [patch, token];
      return matrix.values[query * matrix.columns + key];
    }

    const drawing = Haarbor.drawing({
      canvas,
      host: node,
      sizeIn: (width) => [width, (width * shown().grid.rows) / shown().grid.columns],
      draw(context, theme, width, height) {
        if (!picture) {
          return;
        }
        const token = state.get("pointed") ?? state.get("query") ?? 0;
        const label = Haarbor.tokenText(shown().query_labels[token]);
        words.textContent =
          state.get("direction") === "to" ? `Where ${label} looks` : `What looks at ${label}`;
        context.imageSmoothingEnabled = true;
        context.drawImage(picture, 0, 0, width, height);
        Haarbor.drawPatchHeat(context, shown().grid, {
          width,
          height,
          weightOf: (patch) => weightOf(token, patch),
          palette: state.get("palette"),
          alpha: 0.75,
        });
        Haarbor.drawPatchFrame(context, theme, shown().grid, { width, height, token });
      },
    });
    function tokenAt(event) {
      const { first, rows, columns } = shown().grid;
      const [x, y] = Haarbor.placeOn(canvas, event);
      const column = Haarbor.between(Math.floor((x / canvas.clientWidth) * columns), 0, columns - 1);
      const row = Haarbor.between(Math.floor((y / canvas.clientHeight) * rows), 0, rows - 1);
      return first + row * columns + column;
    }
    canvas.addEventListener("pointermove", (event) => state.set({ pointed: tokenAt(event) }));
    canvas.addEventListener("pointerleave", () => state.set({ pointed: null }));
    canvas.addEventListener("click", (event) => state.set({ query: tokenAt(event) }));
    return {
      node,
      redraw: drawing.later,
      async show(place, found) {
        matrix = found;
        picture = await Haarbor.pictureOf(run, place);
        drawing.now();
      },
    };
  }

  function inputView(run) {
    const { labels, shown } = run.data;
    if (shown.every(Haarbor.isOnPicture)) {
      return comparedPicture(run);
    }
    return labels === "tokens" && shown[0].block === 1 ? Haarbor.attentionText(run, false) : null;
  }

  /**
   * A card for a head in a comparison, which can be given to another head when the comparison changes.
   *
   * `setHead(head)` names it; `show(gathered, top, order)` draws it, `top` having the brightest colour.
   */
  Haarbor.comparedCard = (run) => {
    const matrix = Haarbor.matrixView("Attention of a compared head");
    const input = inputView(run);
    const title = el("h4", {});
    const takeOut = Haarbor.button("\u00d7", () => run.toggle(Number(node.dataset.head)), {
      class: "take-out",
    });
    const node = el(
      "article",
      { class: "compared" },
      el("div", { class: "heading" }, title, takeOut),
      matrix.node,
      input && input.node,
    );
    return {
      node,
      matrix,
      redraw: () => input?.redraw?.(),
      setHead(head) {
        const name = run.names[head];
        node.dataset.head = head;
        node.setAttribute("aria-label", `Head ${name}`);
        takeOut.setAttribute("aria-label", `Take head ${name} out of the comparison`);
        title.replaceChildren(run.chip(head), ` ${run.headWords(head)}`);
      },
      show(gathered, top, order) {
        matrix.show(Haarbor.headDescriptions(gathered, top)[order]);
        input?.show(gathered.place, gathered.found);
      },
    };
  };
})();
