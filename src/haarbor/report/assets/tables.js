// Every table of the page as CSV, one by one or all in one archive.
(() => {
  const all = [];
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    let text = String(value);
    // A text that a spreadsheet would take for a formula is marked as text.
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  Haarbor.csv = (columns, rows) => [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

  const save = (name, blob) => {
    const address = URL.createObjectURL(blob);
    const link = Haarbor.el("a", { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };
  // A table is { name, title, columns, rows } with rows a function, perhaps a slow one.
  Haarbor.addTable = (run, table) => all.push({ ...table, file: `${run.index ? "b-" : ""}${table.name}.csv`, run });
  Haarbor.tables = () => all;
  const text = async (table) => Haarbor.csv(typeof table.columns === "function" ? table.columns() : table.columns, await table.rows());
  Haarbor.tableButton = (run, name) => {
    const found = () => all.find((table) => table.run === run && table.name === name);
    return Haarbor.button("CSV", async () => save(found().file, new Blob([await text(found())], { type: "text/csv" })),
      { class: "csv", title: `Download this table as CSV`, "data-table": name });
  };

  const crcTable = Array.from({ length: 256 }, (_, n) => {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    return c >>> 0;
  });
  const crc = (bytes) => {
    let c = 0xffffffff;
    for (const byte of bytes) c = crcTable[(c ^ byte) & 255] ^ (c >>> 8);
    return (c ^ 0xffffffff) >>> 0;
  };
  // A zip archive without compression, dated 1 January 1980 as the format's beginning.
  const archive = (files) => {
    const parts = [], directory = [];
    let offset = 0;
    for (const [name, bytes] of files) {
      const title = new TextEncoder().encode(name);
      // Version, flags (names in UTF-8), method, time, date, checksum, two sizes, lengths of name and extra.
      const fields = [[20, 2], [0x800, 2], [0, 2], [0, 2], [0x21, 2], [crc(bytes), 4], [bytes.length, 4], [bytes.length, 4], [title.length, 2], [0, 2]];
      const header = (signature, size, place) => {
        const view = new DataView(new ArrayBuffer(size));
        view.setUint32(0, signature, true);
        let at = 4;
        if (place !== undefined) { view.setUint16(4, 20, true); view.setUint32(42, place, true); at = 6; }
        for (const [value, width] of fields) {
          if (width === 2) view.setUint16(at, value, true); else view.setUint32(at, value, true);
          at += width;
        }
        return new Uint8Array(view.buffer);
      };
      parts.push(header(0x04034b50, 30), title, bytes);
      directory.push(header(0x02014b50, 46, offset), title);
      offset += 30 + title.length + bytes.length;
    }
    const size = directory.reduce((sum, part) => sum + part.length, 0);
    const end = new DataView(new ArrayBuffer(22));
    end.setUint32(0, 0x06054b50, true);
    end.setUint16(8, files.length, true);
    end.setUint16(10, files.length, true);
    end.setUint32(12, size, true);
    end.setUint32(16, offset, true);
    return new Blob([...parts, ...directory, end.buffer], { type: "application/zip" });
  };
  Haarbor.allTablesButton = () => Haarbor.button("Download all tables (zip of CSV)", async () => {
    const files = [];
    for (const table of all) files.push([table.file, new TextEncoder().encode(await text(table))]);
    save("tables.zip", archive(files));
  }, { id: "all-tables", class: "primary" });
})();
