// Sentences at the top; heads in them can be opened, and each leads to the picture that shows it.
(() => {
  const { el } = Haarbor;
  const VIEWS = {
    "head-map": "head map",
    "head-tree": "head tree",
    "diffusion-map": "diffusion map",
    stability: "stability section",
    invariance: "invariance section",
  };

  function sentenceItem(run, { parts, view, score, heads }, isLead) {
    const showInViews = () => {
      if (score && run.hasScore(score)) {
        run.state.set({ score });
      }
      if (heads.length) {
        run.brush(heads);
      }
    };
    const link = el(
      "a",
      { href: `#${run.id(view)}`, class: "shows", on: { click: showInViews } },
      `See the ${VIEWS[view] || "picture"}`,
    );
    const words = parts.map((part) => (typeof part === "string" ? part : run.chip(part.head)));
    return el("li", { class: isLead ? "lead" : null }, words, " ", link);
  }

  Haarbor.overview = (run, side) => {
    const items = run.data.overview.map((sentence, i) => sentenceItem(run, sentence, i === 0));
    const card = { class: "card", id: run.id("overview-card") };
    side.append(el("div", card, el("ul", { class: "overview" }, items)));
  };
})();
