// Several heads beside each other: their pictures, their scores, and how far apart they lie.
(() => {
  const { el } = Haarbor;
  const N_LISTED = 24;
  const N_AVERAGED = 64;

  /** Mean and spread of the matrices of some heads, in the organised order; null once `isStale`. */
  async function meanAndSpread(run, heads, isStale) {
    const place = run.state.get("place");
    const first = await Haarbor.headMatrix(run, place, heads[0]);
    const mean = new Float64Array(first.organised.length);
    const squares = new Float64Array(first.organised.length);
    for (const head of heads) {
      const found = await Haarbor.headMatrix(run, place, head);
      if (isStale()) {
        return null;
      }
      found.organised.forEach((value, i) => {
        mean[i] += value / heads.length;
        squares[i] += (value * value) / heads.length;
      });
    }
    const spread = mean.map((value, i) => Math.sqrt(Math.max(0, squares[i] - value * value)));
    return { rows: first.rows, columns: first.columns, mean, spread };
  }

  function meanDistance(run, heads, distances) {
    const pairs = heads.flatMap((one, i) =>
      heads.slice(i + 1).map((two) => distances[one * run.nHeads + two]),
    );
    return Haarbor.mean(pairs);
  }

  function matrixCard(values, { rows, columns }, name, palette) {
    const most = values.reduce((found, value) => Math.max(found, value), 0);
    const least = values.reduce((found, value) => Math.min(found, value), 0);
    const words = Haarbor.number(most);
    const canvas = el("canvas", {
      width: columns,
      height: rows,
      class: "mean",
      role: "img",
      "aria-label": `${name}, organised order, at most ${words}`,
    });
    Haarbor.paint(canvas, Haarbor.palette(palette), (i) =>
      Math.round(255 * Math.sqrt((values[i] - least) / (most - least || 1))),
    );
    return el(
      "div",
      { class: "mean-card" },
      canvas,
      el("div", { class: "note" }, `${name}, at most ${words}`),
    );
  }

  Haarbor.comparison = (run, side) => {
    const { state, data } = run;
    const title = el("h3", {});
    const body = el("div", {});
    const controls = Haarbor.controls(
      Haarbor.button("Clear", () => run.brush([]), { "data-act": "clear" }),
      Haarbor.tableButton(run, "comparison"),
    );
    const card = el(
      "div",
      { class: "card comparison", id: run.id("comparison") },
      el("div", { class: "comparison-head" }, title, controls),
      body,
    );
    side.append(card);
    let sortBy = null;
    let request = 0;

    function sorted(heads) {
      if (sortBy === null) {
        return heads;
      }
      const { values } = run.scoreNamed(sortBy);
      return [...heads].sort((a, b) => (values[b] ?? -Infinity) - (values[a] ?? -Infinity));
    }

    function scoreHeading(score) {
      const isSorted = sortBy === score.name;
      const sort = () => {
        sortBy = isSorted ? null : score.name;
        draw();
      };
      return el(
        "th",
        { scope: "col", "aria-sort": isSorted ? "descending" : "none" },
        Haarbor.button(score.label, sort, { class: "sort", title: score.meaning }),
      );
    }

    function headRow(head) {
      const scores = data.scores.map((score) => {
        const share = Haarbor.shares(score.values)[head] ?? 0;
        const style = { "--share": `${Math.round(100 * share)}%` };
        return el("td", { class: "shared", style }, Haarbor.number(score.values[head]));
      });
      const on = {
        pointerenter: () => state.set({ hovered: head }),
        pointerleave: () => state.set({ hovered: null }),
      };
      return el(
        "tr",
        { "data-head": head, on },
        el("th", { scope: "row" }, run.chip(head)),
        el("td", {}, Haarbor.thumbnail(run, head, 40)),
        scores,
      );
    }

    function scoreTable(heads) {
      const headings = el(
        "tr",
        {},
        el("th", { scope: "col" }, "head"),
        el("th", { scope: "col" }, el("span", { class: "hidden" }, "picture")),
        data.scores.map(scoreHeading),
      );
      const rows = heads.map(headRow);
      return el(
        "div",
        { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Scores of the compared heads" },
        el("table", {}, el("thead", {}, headings), el("tbody", {}, rows)),
      );
    }

    async function draw() {
      request++;
      const turn = request;
      const isStale = () => turn !== request;
      const heads = state.get("brushed");
      card.hidden = heads.length < 2;
      if (card.hidden) {
        return;
      }
      title.textContent = `Comparing ${heads.length} heads`;
      const distances = await Haarbor.headDistances(run);
      if (isStale()) {
        return;
      }
      const distance = meanDistance(run, heads, distances);
      const times = Haarbor.number(distance / (data.median_distance || 1), 2);
      const sentence =
        `Their distances are ${Haarbor.number(distance)} on average, ` +
        `${times} times the median of all pairs of heads.`;
      const means = el("div", { class: "means" });
      body.replaceChildren(el("p", {}, sentence), means, scoreTable(sorted(heads).slice(0, N_LISTED)));
      if (heads.length > N_LISTED) {
        body.append(el("p", { class: "note" }, `The first ${N_LISTED} are listed; the CSV holds all.`));
      }
      const found = await meanAndSpread(run, heads.slice(0, N_AVERAGED), isStale);
      if (found && !isStale()) {
        const palette = state.get("palette");
        means.replaceChildren(
          matrixCard(found.mean, found, "Mean of the heads", palette),
          matrixCard(found.spread, found, "Their spread", palette),
        );
      }
    }

    Haarbor.addTable(run, {
      name: "comparison",
      title: "Heads being compared",
      columns: ["layer", "head", ...data.scores.map((score) => score.name)],
      rows: () =>
        state
          .get("brushed")
          .map((head) => [
            run.layerOf(head),
            run.numberInLayer(head),
            ...data.scores.map((score) => score.values[head]),
          ]),
    });
    state.on(["brushed", "place", "palette"], draw);
  };
})();
