// How much of each head lies at which scale of the two trees, from wavelets/_haar_scales.py.
(() => {
  const CONSTANT = "\u00f8";

  /** Names of the rows or columns: the constant, then the levels on which folders split. */
  function levelName(levels, i) {
    return i === 0 ? CONSTANT : String(levels[i - 1]);
  }

  /** Sums of absolute Haar coefficients of a batch: `byLevel(head)` row by row, and `byOctave(head)`. */
  Haarbor.scalesOf = async (run, place) => {
    const { query_levels: queryLevels, key_levels: keyLevels, octaves } = run.data.shown[place].scales;
    const rows = queryLevels.length + 1;
    const columns = keyLevels.length + 1;
    const numbers = new Float32Array(await run.blob(`batch-${place}-scales`));
    const size = rows * columns;
    const byOctave = numbers.subarray(run.nHeads * size);
    return {
      rows,
      columns,
      octaves,
      rowName: (i) => levelName(queryLevels, i),
      columnName: (i) => levelName(keyLevels, i),
      byLevel: (head) => numbers.subarray(head * size, (head + 1) * size),
      byOctave: (head) => byOctave.subarray(head * octaves, (head + 1) * octaves),
    };
  };

  function plainName(name) {
    return name === CONSTANT ? "constant" : Number(name);
  }

  Haarbor.addScalesTable = (run) =>
    Haarbor.addTable(run, {
      name: "haar-scales",
      title: "Sums of absolute Haar coefficients of every head, by level of the two trees",
      columns: ["batch", "layer", "head", "query_level", "key_level", "sum_of_absolute_coefficients"],
      rows: async () => {
        const rows = [];
        for (let place = 0; place < run.data.shown.length; place++) {
          const scales = await Haarbor.scalesOf(run, place);
          for (let head = 0; head < run.nHeads; head++) {
            scales.byLevel(head).forEach((value, i) => {
              const row = Math.floor(i / scales.columns);
              const column = i % scales.columns;
              rows.push([
                run.data.shown[place].batch,
                run.layerOf(head),
                run.numberInLayer(head),
                plainName(scales.rowName(row)),
                plainName(scales.columnName(column)),
                Number(value.toPrecision(6)),
              ]);
            });
          }
        }
        return rows;
      },
    });
})();
