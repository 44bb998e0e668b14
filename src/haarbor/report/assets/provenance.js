// Settings, versions, commands, and every table to take away.
(() => {
  const { el } = Haarbor;

  function settingsCard(title, values) {
    const rows = Object.entries(values).map(([name, value]) => {
      const isObject = typeof value === "object" && value !== null;
      const text = isObject ? JSON.stringify(value) : String(value);
      return el("div", {}, el("dt", {}, name), el("dd", {}, text));
    });
    return el("div", { class: "card" }, el("h3", {}, title), el("dl", { class: "settings" }, rows));
  }

  function commandsCard(commands) {
    const text = commands.join("\n");
    const source = el("pre", { tabIndex: 0 }, text);
    const answer = el("span", { class: "note", "aria-live": "polite" });
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(text);
        answer.textContent = "copied";
      } catch {
        getSelection().selectAllChildren(source);
        answer.textContent = "selected: press Ctrl-C";
      }
    };
    return el(
      "div",
      { class: "card", id: "commands" },
      el("h3", {}, "Commands that make this page"),
      source,
      Haarbor.controls(Haarbor.button("Copy", copy), answer),
    );
  }

  function tablesCard(whose) {
    const items = Haarbor.tables().map(({ run, name, title }) =>
      el("li", {}, Haarbor.tableButton(run, name), " ", whose(run), title),
    );
    return el(
      "div",
      { class: "card", id: "tables" },
      el("h3", {}, "Tables"),
      el("p", {}, Haarbor.allTablesButton()),
      el("ul", { class: "tables" }, items),
    );
  }

  Haarbor.provenance = (runs, about, host) => {
    const whose = (run) => (runs.length > 1 ? `${"AB"[run.index]}: ` : "");
    const settings = runs.map((run) => {
      const cards = Object.entries(run.data.settings).map(([title, values]) => {
        const heading = title[0].toUpperCase() + title.slice(1);
        return settingsCard(whose(run) + heading, values);
      });
      return cards;
    });
    Haarbor.put(
      host,
      commandsCard(about.commands),
      tablesCard(whose),
      el("div", { class: "columns" }, settings, settingsCard("Page made with", about.versions)),
    );
  };
})();
