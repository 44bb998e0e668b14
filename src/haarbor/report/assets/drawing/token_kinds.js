// What kind each token is: a line below it, and what the lines mean.
(() => {
  const { el } = Haarbor;
  // Plain text has no line.
  const LINES = {
    text: "transparent",
    prompt: "solid var(--pale)",
    answer: "solid var(--accent)",
    image: "solid var(--second)",
    special: "dotted var(--ink)",
  };
  const OTHER_LINES = [
    "dashed var(--accent)",
    "dashed var(--second)",
    "dashed var(--mark)",
    "dashed var(--ink)",
  ];

  /** The line of each kind, as CSS writes it, in the order in which the kinds come. */
  function linesOf(kinds) {
    const names = [...new Set(kinds)];
    const others = names.filter((kind) => !Object.hasOwn(LINES, kind));
    const line = (kind) =>
      Object.hasOwn(LINES, kind) ? LINES[kind] : OTHER_LINES[others.indexOf(kind) % OTHER_LINES.length];
    return new Map(names.map((kind) => [kind, `3px ${line(kind)}`]));
  }

  /** Draws lines below the spans of tokens, and puts what they mean into a legend; none without kinds. */
  Haarbor.markKinds = (spans, kinds, legend) => {
    const lines = linesOf(kinds || []);
    spans.forEach((span, token) => {
      if (kinds) {
        span.style.setProperty("border-bottom", lines.get(kinds[token]));
        span.setAttribute("data-kind", kinds[token]);
      }
    });
    const counted = (kind) => kinds.filter((other) => other === kind).length;
    const items = [...lines].map(([kind, line]) =>
      el(
        "span",
        { class: "kind" },
        el("span", { style: { "border-bottom": line } }, Haarbor.tokenText(kind)),
        ` ${counted(kind)}`,
      ),
    );
    legend.replaceChildren(...(items.length ? ["Tokens by kind: ", ...items] : []));
    legend.hidden = items.length === 0;
  };

  /** Where the kind of token changes, in cells of so many tokens; none where it changes all the time. */
  Haarbor.kindBorders = (kinds, block) => {
    const found = [];
    (kinds || []).forEach((kind, token) => {
      if (token > 0 && kind !== kinds[token - 1]) {
        found.push(token / block);
      }
    });
    return found.length <= 8 ? found : [];
  };
})();
