// All scores of a head in groups, each with a small bar: where the head stands among the others.
(() => {
  const { el } = Haarbor;

  /** Scores of a run by group, in the order in which they come: [group, scores] each. */
  Haarbor.scoreGroups = (scores) => {
    const groups = new Map();
    for (const score of scores) {
      groups.set(score.group, [...(groups.get(score.group) || []), score]);
    }
    return [...groups];
  };

  function rankOf(score, head) {
    const value = score.values[head];
    return score.values.filter((other) => other !== null && other > value).length + 1;
  }

  /** From the least to the largest of the heads: a bar up to this one, and a tick at the median. */
  function barNode() {
    const [reach, tick] = ["reach", "tick"].map((name) => el("i", { class: name }));
    return el("span", { class: "place", "aria-hidden": "true" }, reach, tick);
  }

  function factRow(run, score) {
    const shares = Haarbor.shares(score.values);
    const sorted = shares.filter((share) => share !== null).sort((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
    const value = el("span", { class: "value" });
    const rank = el("small", {});
    const bar = barNode();
    const row = Haarbor.button(
      [el("span", { class: "label" }, score.label), bar, value, rank],
      () => run.state.set({ score: score.name }),
      { class: "fact", "data-score": score.name },
    );
    bar.style.setProperty("--median", `${Math.round(100 * median)}%`);
    Haarbor.explained(row, ...Haarbor.scoreLines(score), "Press to colour the heads by it.");
    return {
      row,
      show(head, current) {
        value.textContent = Haarbor.number(score.values[head]);
        rank.textContent = score.values[head] === null ? "" : `#${rankOf(score, head)}`;
        bar.style.setProperty("--share", `${Math.round(100 * (shares[head] ?? 0))}%`);
        row.setAttribute("aria-pressed", String(score.name === current));
      },
    };
  }

  Haarbor.scoreFacts = (run) => {
    const facts = [];
    const groups = Haarbor.scoreGroups(run.data.scores).map(([group, scores]) => {
      const rows = scores.map((score) => factRow(run, score));
      facts.push(...rows);
      return el(
        "div",
        { class: "fact-group" },
        el("h4", {}, group),
        rows.map(({ row }) => row),
      );
    });
    run.state.on(["chosen", "score"], ({ chosen, score }) =>
      facts.forEach((fact) => fact.show(chosen, score)),
    );
    const words =
      `Bars reach from the least to the largest of the ${run.nHeads} heads; ` +
      "the tick is the median, # the rank.";
    return el(
      "div",
      { class: "facts" },
      el("div", { class: "fact-groups" }, groups),
      el("p", { class: "note" }, words),
    );
  };
})();
