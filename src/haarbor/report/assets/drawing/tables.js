// Every table of the page as CSV, one by one or all in one archive.
(() => {
  const tables = [];

  function cell(value) {
    if (value === null || value === undefined) {
      return "";
    }
    let text = String(value);
    // A text that a spreadsheet would take for a formula is marked as text.
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) {
      text = `'${text}`;
    }
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  }

  Haarbor.csv = (columns, rows) => {
    const lines = [columns, ...rows].map((row) => row.map(cell).join(","));
    return lines.join("\r\n") + "\r\n";
  };

  Haarbor.saveFile = (name, blob) => {
    const address = URL.createObjectURL(blob);
    Haarbor.el("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };

  /** Adds a table { name, title, columns, rows } with rows a function, perhaps a slow one. */
  Haarbor.addTable = (run, table) => {
    const file = `${run.index ? "b-" : ""}${table.name}.csv`;
    tables.push({ ...table, file, run });
  };

  Haarbor.tables = () => tables;

  async function textOf(table) {
    return Haarbor.csv(table.columns, await table.rows());
  }

  Haarbor.tableButton = (run, name) => {
    const download = async () => {
      const table = tables.find((other) => other.run === run && other.name === name);
      Haarbor.saveFile(table.file, new Blob([await textOf(table)], { type: "text/csv" }));
    };
    return Haarbor.button("CSV", download, {
      class: "csv",
      title: "Download this table as CSV",
      "data-table": name,
    });
  };

  Haarbor.allTablesButton = () => {
    const download = async () => {
      const files = [];
      for (const table of tables) {
        files.push([table.file, new TextEncoder().encode(await textOf(table))]);
      }
      Haarbor.saveFile("tables.zip", Haarbor.zipArchive(files));
    };
    return Haarbor.button("Download all tables (zip of CSV)", download, {
      id: "all-tables",
      class: "primary",
    });
  };
})();
