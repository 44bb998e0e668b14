// A bar at the foot of the window, there as soon as heads are picked to be compared.
(() => {
  const { el } = Haarbor;
  const N_NAMED = 8;

  function pickedHead(run, head) {
    return el(
      "span",
      { class: "picked" },
      run.chip(head),
      Haarbor.button("\u00d7", () => run.toggle(head), {
        class: "take-out",
        "aria-label": `Take head ${run.names[head]} out of the comparison`,
      }),
    );
  }

  function rowOf(run) {
    const heads = run.state.get("brushed");
    const named = heads.slice(0, N_NAMED).map((head) => pickedHead(run, head));
    const more = heads.length - N_NAMED;
    const words =
      heads.length === 1 ? "One head picked; pick another to compare:" : `Comparing ${heads.length} heads:`;
    const link = el(
      "a",
      {
        href: "#comparison-section",
        class: "to-comparison",
        on: { click: () => Haarbor.showRun(run.index) },
      },
      "See them side by side",
    );
    return el(
      "div",
      { class: "compared-row" },
      run.letter ? el("b", { class: "letter" }, run.letter) : null,
      el("span", { role: "status" }, words),
      el("span", { class: "picked-heads" }, named, more > 0 ? ` and ${more} more` : null),
      heads.length > 1 ? link : null,
      Haarbor.button("Clear", () => run.brush([]), { "data-act": "clear" }),
    );
  }

  Haarbor.comparedBar = (runs) => {
    const bar = el("aside", { class: "compared-bar", "aria-label": "Heads to compare", hidden: true });
    const draw = () => {
      const picked = runs.filter((run) => run.state.get("brushed").length > 0);
      const hadFocus = bar.contains(document.activeElement);
      bar.replaceChildren(...picked.map(rowOf));
      bar.hidden = picked.length === 0;
      if (hadFocus && !bar.hidden) {
        bar.querySelector(".take-out").focus();
      }
    };
    runs.forEach((run) => run.state.on(["brushed"], draw));
    return bar;
  };
})();
