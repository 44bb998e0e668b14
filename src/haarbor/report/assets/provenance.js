// Settings, versions, commands, and every table to take away.
(() => {
  const { el } = Haarbor;
  const list = (title, values) => el("div", { class: "card" }, el("h3", {}, title), el("dl", { class: "settings" }, Object.entries(values).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, typeof value === "object" && value !== null ? JSON.stringify(value) : String(value))))));
  Haarbor.provenance = (runs, about, host) => {
    const commands = about.commands.join("\n");
    const copied = el("span", { class: "note", "aria-live": "polite" });
    const source = el("pre", { tabIndex: 0 }, commands);
    const copy = Haarbor.button("Copy", async () => {
      try { await navigator.clipboard.writeText(commands); copied.textContent = "copied"; } catch { getSelection().selectAllChildren(source); copied.textContent = "selected: press Ctrl-C"; }
    });
    Haarbor.put(host,
      el("div", { class: "card", id: "commands" }, el("h3", {}, "Commands that make this page"), source, el("div", { class: "controls" }, copy, copied)),
      el("div", { class: "card", id: "tables" }, el("h3", {}, "Tables"), el("p", {}, Haarbor.allTablesButton()),
        el("ul", { class: "tables" }, Haarbor.tables().map((table) => el("li", {}, Haarbor.tableButton(table.run, table.name), " ", runs.length > 1 ? `${"AB"[table.run.index]}: ` : "", table.title)))),
      runs.map((run, i) => el("div", { class: "two" }, Object.entries(run.data.settings).map(([title, values]) => list(`${runs.length > 1 ? `${"AB"[i]}: ` : ""}${title[0].toUpperCase()}${title.slice(1)}`, values)))),
      list("Page made with", about.versions));
  };
})();
