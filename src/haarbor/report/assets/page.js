// Puts the page together: first what can be seen and used at once, then the charts.
(() => {
  const { el } = Haarbor;
  // Names of sections in the bar, where the heading is too long for it.
  const SHORT = {
    "Side by side": "Both",
    "Head explorer": "Explorer",
    "Types of heads": "Types",
    "Network entropy": "Entropy",
    "Token lines, layer by layer": "Token lines",
    "Stability over batches": "Stability",
    "Softmax invariance": "Invariance",
    "Compared with other networks": "Networks",
    "What the words mean": "Glossary",
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
      Haarbor.runTabs(runs),
    );
  }

  function geometry(run, side) {
    const pair = el("div", { class: "two geometry" });
    side.append(pair);
    Haarbor.addGeometryTables(run);
    Haarbor.diffusionMap(run, pair);
    Haarbor.affinity(run, pair);
    Haarbor.headTree(run, side);
  }

  function addSections(runs, about, page, links) {
    function addSection(id, heading) {
      const node = el("section", { id: `${id}-section`, "aria-label": heading }, el("h2", {}, heading));
      page.append(node);
      links.append(el("a", { href: `#${id}-section` }, SHORT[heading] || heading));
      return node;
    }
    /** A section in which every run that has something to show there has its own side. */
    function addSides(id, heading, draw, has = () => true) {
      const shown = runs.filter(has);
      if (!shown.length) {
        return;
      }
      const sides = el("div", { class: shown.length > 1 ? "sides" : "sides alone" });
      addSection(id, heading).append(sides);
      for (const run of shown) {
        const side = el("div", { class: "side", "data-side": run.index });
        if (run.letter) {
          side.append(el("p", { class: "whose" }, el("b", {}, run.letter), ` ${run.data.model}`));
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
    addSides("token-lines", "Token lines, layer by layer", Haarbor.tokenLines, Haarbor.hasTokenLines);
    addSides("comparison", "Comparison", Haarbor.comparison);
    for (const [name, { title, draw }] of Object.entries(Haarbor.sections)) {
      const drawSection = (run, side) => {
        side.id = run.id(name);
        draw(run, side, run.data.sections[name]);
      };
      addSides(name, title, drawSection, (run) => run.data.sections[name]);
    }
    Haarbor.glossary(runs, addSection("glossary", "What the words mean"));
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
  document.body.append(Haarbor.comparedBar(runs));
  Haarbor.showRun(0);
  const goToSection = Haarbor.keepAddress(runs);
  // Canvases and trees take their heights with the first frame.
  requestAnimationFrame(() => requestAnimationFrame(goToSection));
  Promise.all(runs.map((run) => run.opened)).then(() =>
    // Two frames later what was drawn can be seen.
    requestAnimationFrame(() => requestAnimationFrame(startCharts)),
  );
  addEventListener("beforeprint", Haarbor.drawWaiting);
})();
