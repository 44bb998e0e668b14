// The tokens of a text, coloured by the attention that the one pointed at gives, or gets.
(() => {
  const { el } = Haarbor;
  const DIRECTIONS = [
    ["to", "What it looks at"],
    ["from", "What looks at it"],
  ];
  Haarbor.DIRECTIONS = DIRECTIONS;
  const N_NAMED = 4;
  // From here on the colour is so strong that dark letters are read best, whatever the theme.
  const HOT = 0.62;

  /** Without `hasControls` the direction is chosen elsewhere. */
  Haarbor.attentionText = (run, hasControls = true) => {
    const { state } = run;
    const text = el("div", {
      class: "tokens",
      role: "group",
      "aria-label": "Tokens; point at one to see its attention",
    });
    const words = el("p", { class: "note", "aria-live": "polite" });
    const legend = el("div", { class: "kinds", hidden: true });
    let shown = null;
    let matrix = null;
    let spans = [];

    /** Attention between every token and that in focus; without one, what each gets on average. */
    function weights(focus) {
      const { rows, columns, values } = matrix;
      if (focus === null) {
        return spans.map((_, key) => (key < columns ? meanOfColumn(key) : 0));
      }
      if (state.get("direction") === "to") {
        return spans.map((_, key) => (key < columns ? values[focus * columns + key] : 0));
      }
      return spans.map((_, query) => (query < rows ? values[query * columns + focus] : 0));
    }

    function meanOfColumn(key) {
      let sum = 0;
      for (let query = 0; query < matrix.rows; query++) {
        sum += matrix.values[query * matrix.columns + key];
      }
      return sum / matrix.rows;
    }

    /** The tokens with the largest weights, in words. */
    function namedLargest(values) {
      const isTo = state.get("direction") === "to";
      const labels = isTo ? shown.key_labels || shown.query_labels : shown.query_labels;
      const best = [...values.keys()].sort((a, b) => values[b] - values[a]).slice(0, N_NAMED);
      const names = best.map((i) => `${Haarbor.tokenText(labels[i])} (${Haarbor.number(values[i], 2)})`);
      return names.join(", ");
    }

    /** The token that is pointed at in any view, or else the one that was picked; null without one. */
    function focusOf() {
      const focus = state.get("pointed") ?? state.get("query");
      return focus !== null && focus < spans.length ? focus : null;
    }

    function paint() {
      if (!matrix) {
        return;
      }
      const focus = focusOf();
      const values = weights(focus);
      const most = Math.max(...values);
      spans.forEach((span, i) => {
        const share = most > 0 ? Math.sqrt(Math.max(0, values[i]) / most) : 0;
        span.style.setProperty("--heat", `${Math.round(100 * share)}%`);
        span.classList.toggle("hot", share > HOT);
        span.classList.toggle("focus", i === focus);
      });
      if (focus === null) {
        words.textContent = `Colour: mean attention a token gets, at most ${Haarbor.number(most)}.`;
        return;
      }
      words.replaceChildren(
        el("strong", {}, Haarbor.tokenText(shown.query_labels[focus])),
        state.get("direction") === "to" ? " looks at " : " is looked at by ",
        namedLargest(values),
        ".",
      );
    }

    function point(token) {
      state.set({ pointed: token });
    }

    function pick(token) {
      state.set({ query: state.get("query") === token ? null : token });
    }

    function tokenSpan(label, token) {
      const settings = {
        class: "token",
        tabIndex: token === 0 ? 0 : -1,
        role: "button",
        "data-token": token,
        on: {
          pointerenter(event) {
            if (event.pointerType !== "touch") {
              point(token);
            }
          },
          pointerleave: () => point(null),
          focus: () => point(token),
          blur: () => point(null),
          click: () => pick(token),
          keydown(event) {
            const next = spans[token + { ArrowLeft: -1, ArrowRight: 1 }[event.key]];
            if (next) {
              next.focus();
              event.preventDefault();
            }
            if (event.key === "Enter") {
              pick(token);
            }
          },
        },
      };
      // Image tokens are many and are looked at on the picture: here each is a small square.
      if (shown.query_kinds && shown.query_kinds[token] === "image") {
        return el("span", { ...settings, class: "token square", "aria-label": label, title: label });
      }
      return el("span", settings, Haarbor.tokenText(label, 40));
    }

    function layOut(place) {
      if (shown === run.data.shown[place]) {
        return;
      }
      shown = run.data.shown[place];
      matrix = null;
      spans = shown.query_labels.map(tokenSpan);
      Haarbor.markKinds(spans, shown.query_kinds, legend);
      // Lines may break between tokens, where nothing is written.
      text.replaceChildren(...spans.flatMap((span) => [span, "\u200b"]));
    }

    const choice = hasControls ? Haarbor.stateChoice(state, "direction", "Direction", DIRECTIONS) : null;
    // The tokens take their room before their colours are there.
    layOut(state.get("place"));
    words.textContent = "\u00a0";
    state.on(["query", "pointed", "direction"], paint);
    return {
      node: el("div", { class: "attention-text" }, Haarbor.controls(choice), text, legend, words),
      show(place, found) {
        layOut(place);
        matrix = found;
        paint();
      },
    };
  };
})();
