// Attention drawn on the picture that a network saw: from a patch or a token of the text, and to it.
(() => {
  const { el, between } = Haarbor;
  const LEAST_WIDTH = 90;
  const MOST_WIDTH = 380;

  /** Lays the weights of the patches over a picture: the brighter and the less clear, the larger. */
  function drawHeat(context, { first, rows, columns }, { width, height, weightOf, palette, alpha }) {
    const weights = Array.from({ length: rows * columns }, (_, i) => weightOf(first + i));
    const most = Math.max(0, ...weights);
    const wide = width / columns;
    const tall = height / rows;
    context.fillStyle = `rgba(0,0,0,${0.45 * alpha})`;
    context.fillRect(0, 0, width, height);
    weights.forEach((weight, i) => {
      const share = most > 0 ? Math.sqrt(weight / most) : 0;
      context.fillStyle = Haarbor.seeThroughColour(share, palette, alpha * (0.15 + 0.85 * share));
      context.fillRect((i % columns) * wide, Math.floor(i / columns) * tall, wide + 0.5, tall + 0.5);
    });
  }

  /** Frames the patch of a token, if it has one. */
  function drawFrame(context, theme, { first, rows, columns }, { width, height, token }) {
    if (token < first || token >= first + rows * columns) {
      return;
    }
    const wide = width / columns;
    const tall = height / rows;
    const left = ((token - first) % columns) * wide;
    const top = Math.floor((token - first) / columns) * tall;
    const strokes = [
      ["#fff", 5],
      [theme.mark, 2.5],
    ];
    for (const [colour, thick] of strokes) {
      context.strokeStyle = colour;
      context.lineWidth = thick;
      context.strokeRect(left + 1, top + 1, wide - 2, tall - 2);
    }
  }

  /** With `beside` a view of the text, tokens that are no patches are picked there. */
  Haarbor.attentionImage = (run, beside = null) => {
    const { state } = run;
    let shown = null;
    let matrix = null;
    let picture = null;
    let hovered = null;

    function currentToken() {
      // The last word has seen the whole picture, and the first token of a causal network nothing.
      return hovered ?? state.get("query") ?? (beside ? shown.n_queries - 1 : 0);
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
      hovered = token;
      draw();
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
          if (!picture) {
            return null;
          }
          const width = between(hostWidth, LEAST_WIDTH, MOST_WIDTH);
          return [width, (width * shown.grid.rows) / shown.grid.columns];
        },
        draw(context, theme, width, height) {
          const token = currentToken();
          context.imageSmoothingEnabled = true;
          context.drawImage(picture, 0, 0, width, height);
          if (weightOf) {
            drawHeat(context, shown.grid, {
              width,
              height,
              weightOf: (patch) => weightOf(token, patch),
              palette: state.get("palette"),
              alpha: strength.value / 100,
            });
          }
          drawFrame(context, theme, shown.grid, { width, height, token });
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

    state.on(["query", "palette"], draw);
    return {
      node: el("div", { class: "attention-image" }, chips, triple, words, beside && beside.node),
      async show(place, found) {
        shown = run.data.shown[place];
        matrix = found;
        if (beside) {
          beside.show(place, found);
        }
        picture = Haarbor.isOnPicture(shown) ? await Haarbor.pictureOf(run, place) : null;
        triple.hidden = picture === null;
        if (picture === null) {
          chips.replaceChildren();
          words.textContent = "This batch has no picture, or none whose patches form a grid.";
          return;
        }
        const buttons = otherTokens().map((name, token) =>
          Haarbor.button(Haarbor.tokenText(name), () => state.set({ query: token }), {
            "data-token": token,
          }),
        );
        chips.replaceChildren(
          ...buttons,
          el(
            "span",
            { class: "note" },
            `Point at a patch, or pick a token ${beside ? "of the text below" : "without one"}.`,
          ),
          el("label", { class: "control" }, "Overlay", strength),
        );
        draw();
      },
    };
  };
})();
