// What the colours of heads mean: the scale of the chosen score, and the score in words.
(() => {
  const { el } = Haarbor;

  /** Which heads stand on the scale, where the page has two runs. */
  function scaleWords(run, { by, isCommon }) {
    if (!run.letter || by === "ranks") {
      return null;
    }
    if (isCommon) {
      return "Both runs have the same scale. ";
    }
    return by === "common"
      ? "This score does not compare between these two runs: each has its own scale. "
      : "Each run has its own scale. ";
  }

  Haarbor.headLegend = (run) => {
    const { state } = run;
    const bar = Haarbor.scaleBar();
    const title = el("h4", {});
    const plain = el("p", { class: "meaning" });
    const exact = el("p", { class: "note" });
    const words = el("p", { class: "note" });
    state.on(["score", "palette", "scaleBy"], () => {
      const score = run.score();
      const scale = run.scale();
      const sorted = score.values.filter((value) => value !== null).sort((a, b) => a - b);
      const [least, most] = scale.ends;
      const valueAt =
        scale.by === "ranks"
          ? (share) => sorted[Math.round(share * (sorted.length - 1))]
          : (share) => least + share * (most - least);
      bar.show(state.get("palette"), (share) => Haarbor.number(valueAt(share)));
      title.textContent = score.label;
      plain.textContent = score.plain;
      exact.textContent = score.meaning;
      words.replaceChildren(
        el("span", {}, scaleWords(run, scale)),
        el("span", {}, "Low: ", score.low, ". "),
        el("span", {}, "High: ", score.high, "."),
      );
    });
    return el("div", { class: "legend" }, title, plain, bar.nodes, words, exact);
  };
})();
