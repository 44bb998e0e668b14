// Puts the page together: first what can be seen and used at once, then the charts.
(() => {
  const { el } = Haarbor;
  // Names of sections in the bar, where the heading is too long for it.
  const SHORT = { "Head explorer": "Explorer", "Stability over batches": "Stability", "Softmax invariance": "Invariance", "Settings and tables": "Settings" };
  const themed = [];
  Haarbor.onTheme = (act) => themed.push(act);
  const setTheme = (name) => {
    if (name) document.documentElement.dataset.theme = name; else delete document.documentElement.dataset.theme;
    themed.forEach((act) => act());
    Haarbor.redrawCharts();
  };
  const isDark = () => (document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);

  const search = (runs) => {
    const answer = el("span", { class: "note", role: "status", "aria-live": "polite" });
    const input = el("input", { type: "search", id: "search", placeholder: "Find a head: 3.7 or layer 3", "aria-label": "Find a head, such as 3.7, or layer 3", autocomplete: "off", spellcheck: "false" });
    const find = (run, text) => {
      const wanted = text.trim().toLowerCase().replace(/\s+/g, " ");
      if (!wanted) return [];
      const both = wanted.match(/^(?:layer )?(\d+)(?:\.|[ ,]+(?:head )?)(\d+)$/);
      if (both) { const name = `${Number(both[1])}.${Number(both[2])}`; return run.names.includes(name) ? [run.names.indexOf(name)] : []; }
      const layer = wanted.match(/^(?:layer )?(\d+)\.?$/), head = wanted.match(/^head (\d+)$/);
      return [...run.names.keys()].filter((h) => (layer && run.layerOf(h) === Number(layer[1])) || (head && h % run.data.heads_per_layer === Number(head[1])));
    };
    const act = (open) => {
      const counts = runs.map((run) => {
        const found = find(run, input.value);
        if (found.length === 1) { run.state.set({ hovered: found[0] }); if (open) { run.choose(found[0]); document.getElementById(run.id("explorer-card")).scrollIntoView({ behavior: "smooth", block: "start" }); } }
        else if (found.length) run.brush(found);
        return found.length;
      });
      answer.textContent = input.value.trim() === "" ? "" : counts.every((c) => c === 0) ? "no such head" : counts[0] === 1 ? "press Enter to open" : `${Math.max(...counts)} heads marked`;
    };
    input.addEventListener("input", () => act(false));
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") act(true); if (event.key === "Escape") { input.value = ""; act(false); runs.forEach((r) => r.state.set({ hovered: null })); } });
    return [input, answer];
  };

  const start = () => {
    const { runs: data, about } = JSON.parse(document.getElementById("page-data").textContent);
    const runs = data.map(Haarbor.createRun);
    Haarbor.runs = runs;
    const page = document.getElementById("page");
    page.classList.toggle("two-runs", runs.length === 2);
    const title = runs.map((run) => run.data.model).join(" and ");
    const links = el("nav", { "aria-label": "Sections" });
    const theme = Haarbor.button("", () => { setTheme(isDark() ? "light" : "dark"); name(); }, { id: "theme" });
    const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`); };
    name();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { setTheme(document.documentElement.dataset.theme); name(); });
    const bar = el("header", { class: "bar" }, el("a", { class: "skip", href: "#head-map-section" }, "Skip to the pictures"), el("span", { class: "brand" }, "Haarbor"), links, el("span", { class: "find" }, search(runs)), theme);
    document.body.prepend(bar);
    page.replaceChildren(el("div", { class: "title" }, el("h1", {}, title), el("p", { class: "pale" }, runs.map((run) => `${run.nHeads} heads`).join(" and "), ", attention organised by trees")));

    const section = (id, heading, draw, wide = false) => {
      const node = el("section", { id: `${id}-section`, "aria-label": heading }, heading ? el("h2", {}, heading) : null);
      page.append(node);
      if (heading) links.append(el("a", { href: `#${id}-section` }, SHORT[heading] || heading));
      if (wide) { draw(node); return; }
      const sides = el("div", { class: "sides" });
      node.append(sides);
      runs.forEach((run) => {
        const side = el("div", { class: "side" }, runs.length > 1 ? el("p", { class: "whose" }, el("b", {}, "AB"[run.index]), ` ${run.data.model}`) : null);
        sides.append(side);
        draw(run, side);
      });
    };
    section("overview", "Overview", Haarbor.overview);
    if (runs.length === 2) section("two-networks", "Side by side", (node) => Haarbor.twoRuns(runs, node), true);
    section("head-map", "Heads", Haarbor.headMap);
    section("geometry", "Geometry", (run, side) => {
      const pair = el("div", { class: "two geometry" });
      side.append(pair);
      Haarbor.diffusionMap(run, pair);
      Haarbor.affinity(run, pair);
      Haarbor.headTree(run, side);
      Haarbor.comparison(run, side);
    });
    section("explorer", "Head explorer", Haarbor.explorer);
    for (const [key, part] of Object.entries(Haarbor.sections))
      if (runs.some((run) => run.data.sections[key])) section(key, part.title, (run, side) => { side.id = run.id(key); if (run.data.sections[key]) part.draw(run, side, run.data.sections[key]); });
    section("provenance", "Settings and tables", (node) => Haarbor.provenance(runs, about, node), true);
    const root = document.documentElement;
    Promise.all(runs.map((run) => run.opened)).then(() => requestAnimationFrame(() => requestAnimationFrame(() => {
      root.dataset.usable = performance.now().toFixed(0);
      Haarbor.allowCharts();
      setTimeout(Haarbor.drawWaiting, 700);
    })));
    addEventListener("beforeprint", Haarbor.drawWaiting);
  };
  start();
})();
