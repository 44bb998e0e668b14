// The tokens of a text, coloured by the attention that the one pointed at gives, or gets.
(() => {
  const { el } = Haarbor;
  const DIRECTIONS = [
    ["to", "What it looks at"],
    ["from", "What looks at it"],
  ];
  const N_NAMED = 4;
  // From here on the colour is so strong that dark letters are read best, whatever the theme.
  const HOT = 0.62;

  Haarbor.attentionText = (run) => {
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
    let hovered = null;
    let direction = "to";

    /** Attention between every token and that in focus; without one, what each gets on average. */
    function weights(focus) {
      const { rows, columns, values } = matrix;
      if (focus === null) {
        return spans.map((_, key) => (key < columns ? meanOfColumn(key) : 0));
      }
      if (direction === "to") {
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
      const labels = direction === "to" ? shown.key_labels || shown.query_labels : shown.query_labels;
      const best = [...values.keys()].sort((a, b) => values[b] - values[a]).slice(0, N_NAMED);
      const names = best.map((i) => `${Haarbor.tokenText(labels[i])} (${Haarbor.number(values[i], 2)})`);
      return names.join(", ");
    }

    function paint() {
      if (!matrix) {
        return;
      }
      const focus = hovered ?? state.get("query");
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
        direction === "to" ? " looks at " : " is looked at by ",
        namedLargest(values),
        ".",
      );
    }

    function point(token) {
      hovered = token;
      paint();
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

    const choice = Haarbor.choice("Direction", DIRECTIONS, "to", (value) => {
      direction = value;
      paint();
    });
    state.on(["query"], paint);
    return {
      node: el("div", { class: "attention-text" }, Haarbor.controls(choice), text, legend, words),
      show(place, found) {
        matrix = found;
        if (shown !== run.data.shown[place]) {
          shown = run.data.shown[place];
          spans = shown.query_labels.map(tokenSpan);
          // Lines may break between tokens, where nothing is written.
          Haarbor.markKinds(spans, shown.query_kinds, legend);
          text.replaceChildren(...spans.flatMap((span) => [span, "\u200b"]));
        }
        paint();
      },
    };
  };
})();
