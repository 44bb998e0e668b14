// Sentences at the top; heads in them can be opened, and each leads to the picture that shows it.
(() => {
  const VIEWS = { "head-map": "head map", "head-tree": "head tree", "diffusion-map": "diffusion map", stability: "stability section", invariance: "invariance section" };
  Haarbor.overview = (run, side) => {
    const rows = run.data.overview.map((sentence, number) => {
      const link = Haarbor.el("a", {
        href: `#${run.id(sentence.view)}`, class: "shows",
        on: { click: () => {
          if (sentence.score && run.hasScore(sentence.score)) run.state.set({ score: sentence.score });
          if (sentence.heads.length) run.brush(sentence.heads);
        } },
      }, `See the ${VIEWS[sentence.view] || "picture"}`);
      return Haarbor.el("li", { class: number === 0 ? "lead" : null },
        sentence.parts.map((part) => (typeof part === "string" ? part : run.chip(part.head))), " ", link);
    });
    side.append(Haarbor.el("div", { class: "card", id: run.id("overview-card") }, Haarbor.el("ul", { class: "overview" }, rows)));
  };
})();
