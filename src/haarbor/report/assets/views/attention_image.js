// Attention drawn on the picture that a network saw: from a patch or a token of the text, and to it.
(() => {
  const { el, between } = Haarbor;
  const LEAST_WIDTH = 90;
  const MOST_WIDTH = 380;

  /** With `beside` a view of the text, tokens that are no patches are picked there. */
  Haarbor.attentionImage = (run, beside = null) => {
    const { state } = run;
    let shown = null;
    let matrix = null;
    let picture = null;

    function currentToken() {
      // The last word has seen the whole picture, and the first token of a causal network nothing.
      return state.get("pointed") ?? state.get("query") ?? (beside ? shown.n_queries - 1 : 0);
    }
    function isPatch(token) {
      const { first, rows, columns } = shown.grid;
      return token >= first && token < first + rows * columns;
    }
    function weightBetween(query, key) {
      return matrix.values[query * matrix.columns + key];
    }

    /** The token of the patch under a pointer; null beside the patches. */
    function tokenAt(canvas, event) {
      const { first, rows, columns } = shown.grid;
      const box = canvas.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
      const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
      const isInside = column >= 0 && row >= 0 && column < columns && row < rows;
      return isInside ? first + row * columns + column : null;
    }

    function movePatch(event) {
      const { first, rows, columns } = shown.grid;
      const steps = { ArrowUp: -columns, ArrowDown: columns, ArrowLeft: -1, ArrowRight: 1 };
      const step = steps[event.key];
      if (!step) {
        return;
      }
      event.preventDefault();
      const now = state.get("query") ?? first - step;
      state.set({ query: between(now + step, 0, first + rows * columns - 1) });
    }

    function point(token) {
      state.set({ pointed: token });
    }

    /** A copy of the picture; `weightOf(token, patch)` says what is laid over it, if anything. */
    function panel(title, weightOf) {
      const canvas = el("canvas", {
        tabIndex: 0,
        role: "img",
        "aria-label": `${title}; arrow keys move from patch to patch`,
        on: {
          pointermove: (event) => point(tokenAt(canvas, event)),
          pointerleave: () => point(null),
          click: (event) => state.set({ query: tokenAt(canvas, event) }),
          keydown: movePatch,
        },
      });
      const node = el("div", { class: "on-image" }, el("h4", {}, title), canvas);
      const drawing = Haarbor.drawing({
        canvas,
        host: node,
        sizeIn(hostWidth) {
          if (!Haarbor.isOnPicture(shown)) {
            return null;
          }
          const width = between(hostWidth, LEAST_WIDTH, MOST_WIDTH);
          return [width, (width * shown.grid.rows) / shown.grid.columns];
        },
        draw(context, theme, width, height) {
          if (!picture) {
            return;
          }
          const token = currentToken();
          context.imageSmoothingEnabled = true;
          context.drawImage(picture, 0, 0, width, height);
          if (weightOf) {
            Haarbor.drawPatchHeat(context, shown.grid, {
              width,
              height,
              weightOf: (patch) => weightOf(token, patch),
              palette: state.get("palette"),
              alpha: strength.value / 100,
            });
          }
          Haarbor.drawPatchFrame(context, theme, shown.grid, { width, height, token });
        },
      });
      return { node, drawing };
    }

    const strength = el("input", {
      type: "range",
      min: 0,
      max: 100,
      value: 75,
      "aria-label": "Strength of the overlay",
      on: { input: draw },
    });
    const panels = [
      panel("The picture", null),
      panel(`Where the ${beside ? "token" : "patch"} looks`, (token, patch) => weightBetween(token, patch)),
      panel(`Who looks at the ${beside ? "token" : "patch"}`, (token, patch) => weightBetween(patch, token)),
    ];
    const chips = Haarbor.controls();
    const words = el("p", { class: "note", "aria-live": "polite" });
    const triple = el(
      "div",
      { class: "triple" },
      panels.map(({ node }) => node),
    );

    /** Tokens that are no patches, such as that of the class, unless they are picked elsewhere. */
    function otherTokens() {
      return beside ? [] : shown.query_labels.slice(0, shown.grid.first);
    }

    /** How much of its attention a token gives to all patches together. */
    function toThePicture(token) {
      const { first, rows, columns } = shown.grid;
      let sum = 0;
      for (let patch = first; patch < first + rows * columns; patch++) {
        sum += weightBetween(token, patch);
      }
      return ` \u00b7 to the picture ${Haarbor.number(sum, 2)}`;
    }

    function draw() {
      if (!picture) {
        return;
      }
      const token = currentToken();
      const label = Haarbor.tokenText(shown.query_labels[token]);
      const isSummed = beside && run.data.content === "probabilities";
      const toItself = Haarbor.number(weightBetween(token, token));
      const toOthers = otherTokens().map((name, other) => {
        const weight = Haarbor.number(weightBetween(token, other));
        return ` \u00b7 to ${Haarbor.tokenText(name)} ${weight}`;
      });
      panels.forEach(({ drawing }) => drawing.now());
      words.replaceChildren(
        `${isPatch(token) ? "Patch" : "Token"} ${label}: to itself ${toItself}`,
        ...(isSummed ? [toThePicture(token)] : []),
        ...toOthers,
      );
      for (const chip of chips.querySelectorAll("button")) {
        chip.setAttribute("aria-pressed", String(Number(chip.dataset.token) === token));
      }
    }

    function tokenButtons() {
      return otherTokens().map((name, token) =>
        Haarbor.button(Haarbor.tokenText(name), () => state.set({ query: token }), { "data-token": token }),
      );
    }

    /** What can be there before the picture is: it takes its room. */
    function layOut(place) {
      shown = run.data.shown[place];
      const isOnPicture = Haarbor.isOnPicture(shown);
      triple.hidden = !isOnPicture;
      words.textContent = isOnPicture
        ? "\u00a0"
        : "This batch has no picture, or none whose patches form a grid.";
      const help = `Point at a patch, or pick a token ${beside ? "of the text below" : "without one"}.`;
      Haarbor.put(
        Haarbor.emptied(chips),
        isOnPicture && [
          tokenButtons(),
          el("span", { class: "note" }, help),
          el("label", { class: "control" }, "Overlay", strength),
        ],
      );
    }

    layOut(state.get("place"));
    state.on(["query", "pointed", "palette"], draw);
    return {
      node: el("div", { class: "attention-image" }, chips, triple, words, beside && beside.node),
      async show(place, found) {
        layOut(place);
        matrix = found;
        beside?.show(place, found);
        picture = Haarbor.isOnPicture(shown) ? await Haarbor.pictureOf(run, place) : null;
        draw();
      },
    };
  };
})();
