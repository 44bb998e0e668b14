// Several heads beside each other: their pictures, their scores, and how far apart they lie.
(() => {
  const { el } = Haarbor;
  const MOST = 24;
  Haarbor.comparison = (run, side) => {
    const { state, data } = run;
    const title = el("h3", {}), body = el("div", {}), card = el("div", { class: "card comparison", id: run.id("comparison") },
      el("div", { class: "comparison-head" }, title, el("div", { class: "controls" }, Haarbor.button("Clear", () => run.brush([]), { "data-act": "clear" }), Haarbor.tableButton(run, "comparison"))), body);
    side.append(card);
    let sortBy = null, request = 0;
    const mean = async (heads, turn) => {
      const place = state.get("place"), sums = { total: null };
      for (const head of heads) {
        const found = await Haarbor.headMatrix(run, place, head);
        if (turn !== request) return null;
        if (!sums.total) Object.assign(sums, { total: new Float64Array(found.organised.length), squares: new Float64Array(found.organised.length), rows: found.rows, columns: found.columns });
        found.organised.forEach((v, i) => { sums.total[i] += v / heads.length; sums.squares[i] += (v * v) / heads.length; });
      }
      sums.spread = sums.total.map((m, i) => Math.sqrt(Math.max(0, sums.squares[i] - m * m)));
      return sums;
    };
    const picture = (values, rows, columns, name) => {
      let most = 0, least = 0;
      for (const v of values) { most = Math.max(most, v); least = Math.min(least, v); }
      const canvas = el("canvas", { width: columns, height: rows, class: "mean", role: "img", "aria-label": `${name}, organised order, at most ${Haarbor.number(most)}` });
      const context = canvas.getContext("2d"), image = context.createImageData(columns, rows), rgb = Haarbor.palette(state.get("palette"));
      values.forEach((v, i) => { const q = 3 * Math.round(255 * Math.sqrt((v - least) / (most - least || 1))); image.data.set([rgb[q], rgb[q + 1], rgb[q + 2], 255], 4 * i); });
      context.putImageData(image, 0, 0);
      return el("div", { class: "mean-card" }, canvas, el("div", { class: "note" }, `${name}, at most ${Haarbor.number(most)}`));
    };
    const rows = (heads) => heads.map((head) => [run.layerOf(head), head % data.heads_per_layer, ...data.scores.map((s) => s.values[head])]);
    Haarbor.addTable(run, { name: "comparison", title: "Heads being compared", columns: ["layer", "head", ...data.scores.map((s) => s.name)], rows: () => rows(state.get("brushed")) });
    const draw = async () => {
      const turn = ++request, heads = state.get("brushed");
      card.hidden = heads.length < 2;
      if (heads.length < 2) return;
      title.textContent = `Comparing ${heads.length} heads`;
      const sorted = sortBy ? [...heads].sort((a, b) => (run.scoreNamed(sortBy).values[b] ?? -Infinity) - (run.scoreNamed(sortBy).values[a] ?? -Infinity)) : heads;
      const few = sorted.slice(0, MOST);
      const distances = await run.distances();
      if (turn !== request) return;
      const pairs = [];
      heads.forEach((a, i) => heads.slice(i + 1).forEach((b) => pairs.push(distances[a * run.nHeads + b])));
      const middle = pairs.reduce((a, b) => a + b, 0) / pairs.length;
      const header = el("tr", {}, el("th", { scope: "col" }, "head"), el("th", { scope: "col" }, el("span", { class: "hidden" }, "picture")), data.scores.map((score) => el("th", { scope: "col", "aria-sort": sortBy === score.name ? "descending" : "none" },
        Haarbor.button(score.label, () => { sortBy = sortBy === score.name ? null : score.name; draw(); }, { class: "sort", title: score.meaning }))));
      const body_ = few.map((head) => el("tr", { "data-head": head, on: { pointerenter: () => state.set({ hovered: head }), pointerleave: () => state.set({ hovered: null }) } },
        el("th", { scope: "row" }, run.chip(head)), el("td", {}, Haarbor.thumbnail(run, head, 40)),
        data.scores.map((score) => { const share = Haarbor.shares(score.values)[head]; return el("td", { class: "shared", style: { "--share": `${Math.round(100 * (share ?? 0))}%` } }, Haarbor.number(score.values[head])); })));
      const means = el("div", { class: "means" });
      body.replaceChildren(
        el("p", {}, `Their distances are ${Haarbor.number(middle)} on average, ${Haarbor.number(middle / (data.median_distance || 1), 2)} times the median of all pairs of heads.`),
        means, el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Scores of the compared heads" }, el("table", {}, el("thead", {}, header), el("tbody", {}, body_))),
        heads.length > MOST ? el("p", { class: "note" }, `The first ${MOST} are listed; the CSV holds all.`) : null);
      const found = await mean(heads.slice(0, 64), turn);
      if (found && turn === request) means.replaceChildren(picture(found.total, found.rows, found.columns, "Mean of the heads"), picture(found.spread, found.rows, found.columns, "Their spread"));
    };
    state.on(["brushed", "place", "palette"], draw);
  };
})();
