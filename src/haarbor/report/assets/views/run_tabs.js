// On narrow screens one of two runs is seen at a time: tabs say which.
(() => {
  const { el } = Haarbor;

  /** Shows the run of this number where there is room for one alone. */
  Haarbor.showRun = (index) => {
    document.getElementById("page").dataset.run = String(index);
    document.querySelectorAll("[role=tab]").forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === index));
      tab.tabIndex = i === index ? 0 : -1;
    });
  };

  /** Shows the run that an element belongs to. */
  Haarbor.showRunOf = (node) => {
    const side = node.closest("[data-side]");
    if (side && Haarbor.runs.length > 1) {
      Haarbor.showRun(Number(side.dataset.side));
    }
  };

  /** The tabs; null in a page of one run. */
  Haarbor.runTabs = (runs) => {
    if (runs.length < 2) {
      return null;
    }
    const tabs = runs.map((run, i) =>
      el(
        "button",
        {
          type: "button",
          role: "tab",
          "aria-selected": String(i === 0),
          tabIndex: i === 0 ? 0 : -1,
          on: { click: () => Haarbor.showRun(i) },
        },
        el("b", {}, run.letter),
        " ",
        run.data.model,
      ),
    );
    const node = el("div", { class: "tabs", role: "tablist", "aria-label": "Which run is shown" }, tabs);
    node.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) {
        const next = (tabs.indexOf(event.target) + step + tabs.length) % tabs.length;
        Haarbor.showRun(next);
        tabs[next].focus();
        event.preventDefault();
      }
    });
    return node;
  };
})();
