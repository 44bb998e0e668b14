// From the packed text in the page to numbers; each piece is unpacked when it is first looked at.
(() => {
  const inflated = new Map();
  const fromBase64 = (text) => {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return bytes;
  };
  Haarbor.unpack = (id) => {
    if (!inflated.has(id)) {
      const element = document.getElementById(id);
      const stream = new Blob([fromBase64(element.textContent)]).stream().pipeThrough(new DecompressionStream("deflate"));
      inflated.set(id, new Response(stream).arrayBuffer());
    }
    return inflated.get(id);
  };

  const kept = new Map();
  const remember = (key, make) => {
    if (kept.has(key)) { const found = kept.get(key); kept.delete(key); kept.set(key, found); return found; }
    const made = make();
    kept.set(key, made);
    if (kept.size > 80) kept.delete(kept.keys().next().value);
    return made;
  };
  const restored = (buffer, rows, columns, power) => {
    const offsets = new Float32Array(buffer, 0, rows);
    const scales = new Float32Array(buffer, 4 * rows, rows);
    const steps = new Uint8Array(buffer, 8 * rows);
    const values = new Float32Array(rows * columns);
    for (let r = 0, i = 0; r < rows; r++)
      for (let c = 0; c < columns; c++, i++) {
        const share = steps[i] / 255;
        values[i] = offsets[r] + scales[r] * (power === 2 ? share * share : share);
      }
    return values;
  };
  Haarbor.restored = restored;

  // Attention of a head: { rows, columns, values, organised }, entries of both orders row by row.
  Haarbor.headMatrix = (run, place, head) => remember(`${run.index}/${place}/${head}`, async () => {
    const shown = run.data.shown[place];
    const rows = Math.ceil(shown.n_queries / shown.block), columns = Math.ceil(shown.n_keys / shown.block);
    const power = shown.quantisation.power;
    const organised = restored(await run.blob(`batch-${place}-head-${head}`), rows, columns, power);
    let values;
    if (shown.block > 1) values = restored(await run.blob(`batch-${place}-original-${head}`), rows, columns, power);
    else {
      values = new Float32Array(rows * columns);
      const { query, key } = shown.orders;
      for (let r = 0, i = 0; r < rows; r++)
        for (let c = 0; c < columns; c++, i++) values[query[r] * columns + key[c]] = organised[i];
    }
    let largest = 0, least = Infinity;
    for (const value of organised) { if (value > largest) largest = value; if (value < least) least = value; }
    // Nearly all entries lie below `usual`: a few large ones would leave the rest dark.
    const usual = Float32Array.from(organised).sort()[Math.floor(0.995 * (organised.length - 1))];
    return { rows, columns, values, organised, largest, usual, least: power === 2 ? 0 : least };
  });

  // One bit an entry in the original order, or null where every entry is open.
  Haarbor.maskOf = (run, place) => remember(`${run.index}/${place}/mask`, async () => {
    const shown = run.data.shown[place];
    if (!shown.masked || shown.block > 1) return null;
    const bits = new Uint8Array(await run.blob(`batch-${place}-mask`));
    const open = new Uint8Array(shown.n_queries * shown.n_keys);
    for (let i = 0; i < open.length; i++) open[i] = (bits[i >> 3] >> (7 - (i & 7))) & 1;
    return open;
  });

  Haarbor.scalesOf = async (run, place) => {
    const { query_levels: down, key_levels: across, octaves } = run.data.shown[place].scales;
    const levels = [down.length + 1, across.length + 1];
    const numbers = new Float32Array(await run.blob(`batch-${place}-scales`));
    const size = levels[0] * levels[1];
    return {
      levels, octaves,
      // Names of the rows and columns: the constant, then the levels on which folders split.
      rowName: (i) => (i === 0 ? "\u00f8" : String(down[i - 1])),
      columnName: (i) => (i === 0 ? "\u00f8" : String(across[i - 1])),
      byLevel: (head) => numbers.subarray(head * size, (head + 1) * size),
      byOctave: (head) => numbers.subarray(run.nHeads * size + head * octaves, run.nHeads * size + (head + 1) * octaves),
    };
  };
})();
