// The score of the chosen head on every batch, among all heads.
(() => {
  const NOTE = "This head (line), the median of all heads (dotted) and the middle 80 % (band).";
  const INVISIBLE = { mode: "lines", type: "scatter", line: { width: 0 }, hoverinfo: "skip" };

  /** The quantile of the heads on every batch. */
  function quantiles(score, share) {
    return score.by_batch.map((values) => {
      const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
      return sorted[Math.round(share * (sorted.length - 1))];
    });
  }

  /** The figure; null where there is one batch alone. */
  Haarbor.overBatches = (run) => {
    const { state, data } = run;
    if (data.batches.length < 2) {
      return null;
    }
    const node = Haarbor.el("div", {});
    const chart = Haarbor.chart(node, 250, (theme) => {
      const score = run.score().by_batch ? run.score() : data.scores.find((other) => other.by_batch);
      const head = state.get("chosen");
      const batches = data.batches.map(String);
      return {
        traces: [
          { ...INVISIBLE, x: batches, y: quantiles(score, 0.9) },
          {
            ...INVISIBLE,
            x: batches,
            y: quantiles(score, 0.1),
            fill: "tonexty",
            fillcolor: "rgba(127,140,150,0.22)",
          },
          {
            x: batches,
            y: quantiles(score, 0.5),
            mode: "lines",
            type: "scatter",
            line: { color: theme.pale, width: 1.5, dash: "dot" },
            hovertemplate: "median of all heads: %{y:.4g}<extra></extra>",
          },
          {
            x: batches,
            y: score.by_batch.map((values) => values[head]),
            mode: "lines+markers",
            type: "scatter",
            line: { color: theme.mark, width: 2.5 },
            marker: { size: 7 },
            hovertemplate: `batch %{x}: %{y:.4g}<extra>${run.names[head]}</extra>`,
          },
        ],
        layout: {
          xaxis: { title: { text: "batch" }, type: "category" },
          yaxis: { title: { text: score.label } },
        },
      };
    });
    state.on(["chosen", "score"], chart.redraw);
    const controls = Haarbor.controls(Haarbor.tableButton(run, "scores-by-batch"));
    return Haarbor.figure(run.id("over-batches"), "Over batches", NOTE, controls, node);
  };
})();
