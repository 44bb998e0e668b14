// The tokens of a text, coloured by the attention that the one pointed at gives, or gets.
(() => {
  const { el } = Haarbor;
  Haarbor.attentionText = (run) => {
    const { state } = run;
    const text = el("div", { class: "tokens", role: "group", "aria-label": "Tokens; point at one to see its attention" });
    const words = el("p", { class: "note", "aria-live": "polite" });
    let matrix = null, shown = null, spans = [], hovered = null, direction = "to";
    const choice = Haarbor.choice("Direction", [["to", "What it looks at"], ["from", "What looks at it"]], "to", (value) => { direction = value; paint(); });
    const node = el("div", { class: "attention-text" }, el("div", { class: "controls" }, choice), text, words);
    const labels = () => (direction === "to" ? shown.key_labels || shown.query_labels : shown.query_labels);
    const weight = (token) => {
      const focus = hovered ?? state.get("query");
      if (focus !== null && focus !== undefined) return direction === "to" ? matrix.values[focus * matrix.columns + token] : matrix.values[token * matrix.columns + focus];
      let sum = 0;
      for (let q = 0; q < matrix.rows; q++) sum += matrix.values[q * matrix.columns + token];
      return sum / matrix.rows;
    };
    const paint = () => {
      if (!matrix) return;
      const focus = hovered ?? state.get("query"), values = spans.map((_, i) => (i < (direction === "to" || focus === null ? matrix.columns : matrix.rows) ? weight(i) : 0)), most = Math.max(...values);
      spans.forEach((span, i) => {
        const share = most > 0 ? Math.sqrt(Math.max(0, values[i]) / most) : 0;
        span.style.setProperty("--heat", `${Math.round(100 * share)}%`);
        span.classList.toggle("hot", share > 0.62);
        span.classList.toggle("focus", i === focus);
      });
      if (focus === null || focus === undefined) { words.textContent = `Colour: mean attention a token gets, at most ${Haarbor.number(most)}.`; return; }
      const best = [...values.keys()].sort((a, b) => values[b] - values[a]).slice(0, 4);
      words.replaceChildren(el("strong", {}, Haarbor.tokenText(shown.query_labels[focus])), direction === "to" ? " looks at " : " is looked at by ",
        best.map((i) => `${Haarbor.tokenText(labels()[i])} (${Haarbor.number(values[i], 2)})`).join(", "), ".");
    };
    state.on(["query"], paint);
    return {
      node,
      show(place, found) {
        matrix = found;
        if (shown !== run.data.shown[place]) {
          shown = run.data.shown[place];
          spans = shown.query_labels.map((label, i) => {
            const span = el("span", { class: "token", tabIndex: 0, role: "button", "data-token": i, on: {
              pointerenter: (event) => { if (event.pointerType !== "touch") { hovered = i; paint(); } }, pointerleave: () => { hovered = null; paint(); },
              focus: () => { hovered = i; paint(); }, blur: () => { hovered = null; paint(); },
              click: () => state.set({ query: state.get("query") === i ? null : i }),
              keydown: (event) => {
                const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
                if (step && spans[i + step]) { spans[i + step].focus(); event.preventDefault(); }
                if (event.key === "Enter") state.set({ query: state.get("query") === i ? null : i });
              } } }, Haarbor.tokenText(label, 40));
            if (i > 0) span.tabIndex = -1;
            return span;
          });
          text.replaceChildren(...spans.flatMap((span) => [span, document.createTextNode("\u200b")]));
        }
        paint();
      },
    };
  };
})();
