// Puts the page together: first what can be seen and used at once, then the charts.
(() => {
  const { el } = Haarbor;
  // Names of sections in the bar, where the heading is too long for it.
  const SHORT = {
    "Head explorer": "Explorer",
    "Stability over batches": "Stability",
    "Softmax invariance": "Invariance",
    "Settings and tables": "Settings",
  };
  // Charts start when one is near, or when the page has been usable for so many milliseconds.
  const QUIET = 700;

  function titleNode(runs) {
    const models = runs.map((run) => run.data.model).join(" and ");
    const sizes = runs.map((run) => `${run.nHeads} heads`).join(" and ");
    return el(
      "div",
      { class: "title" },
      el("h1", {}, models),
      el("p", { class: "pale" }, sizes, ", attention organised by trees"),
    );
  }

  function barNode(runs, links) {
    return el(
      "header",
      { class: "bar" },
      el("a", { class: "skip", href: "#head-map-section" }, "Skip to the pictures"),
      el("span", { class: "brand" }, "Haarbor"),
      links,
      Haarbor.search(runs),
      Haarbor.themeButton(),
    );
  }

  function geometry(run, side) {
    const pair = el("div", { class: "two geometry" });
    side.append(pair);
    Haarbor.addGeometryTables(run);
    Haarbor.diffusionMap(run, pair);
    Haarbor.affinity(run, pair);
    Haarbor.headTree(run, side);
    Haarbor.comparison(run, side);
  }

  function addSections(runs, about, page, links) {
    function addSection(id, heading) {
      const node = el("section", { id: `${id}-section`, "aria-label": heading }, el("h2", {}, heading));
      page.append(node);
      links.append(el("a", { href: `#${id}-section` }, SHORT[heading] || heading));
      return node;
    }
    /** A section in which every run has its own side. */
    function addSides(id, heading, draw) {
      const sides = el("div", { class: "sides" });
      addSection(id, heading).append(sides);
      for (const run of runs) {
        const side = el("div", { class: "side" });
        if (runs.length > 1) {
          side.append(el("p", { class: "whose" }, el("b", {}, "AB"[run.index]), ` ${run.data.model}`));
        }
        sides.append(side);
        draw(run, side);
      }
    }
    addSides("overview", "Overview", Haarbor.overview);
    if (runs.length === 2) {
      Haarbor.twoRuns(runs, addSection("two-networks", "Side by side"));
    }
    addSides("head-map", "Heads", Haarbor.headMap);
    addSides("geometry", "Geometry", geometry);
    addSides("explorer", "Head explorer", Haarbor.explorer);
    for (const [name, { title, draw }] of Object.entries(Haarbor.sections)) {
      if (runs.some((run) => run.data.sections[name])) {
        addSides(name, title, (run, side) => {
          const found = run.data.sections[name];
          side.id = run.id(name);
          if (found) {
            draw(run, side, found);
          }
        });
      }
    }
    Haarbor.provenance(runs, about, addSection("provenance", "Settings and tables"));
  }

  function startCharts() {
    document.documentElement.dataset.usable = performance.now().toFixed(0);
    Haarbor.allowCharts();
    setTimeout(Haarbor.drawWaiting, QUIET);
  }

  const { runs: payloads, about } = JSON.parse(document.getElementById("page-data").textContent);
  const runs = payloads.map(Haarbor.createRun);
  const page = document.getElementById("page");
  const links = el("nav", { "aria-label": "Sections" });
  Haarbor.runs = runs;
  document.body.prepend(barNode(runs, links));
  page.classList.toggle("two-runs", runs.length === 2);
  page.replaceChildren(titleNode(runs));
  addSections(runs, about, page, links);
  Promise.all(runs.map((run) => run.opened)).then(() =>
    // Two frames later what was drawn can be seen.
    requestAnimationFrame(() => requestAnimationFrame(startCharts)),
  );
  addEventListener("beforeprint", Haarbor.drawWaiting);
})();
