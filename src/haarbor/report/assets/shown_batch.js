// What the page holds of a batch, from _shown_batch.py: matrices of the heads, mask, picture, thumbnails.
(() => {
  const { el } = Haarbor;
  const N_REMEMBERED = 80;
  const THUMBNAIL = 40;
  const remembered = new Map();
  const sheets = new Map();

  /** What `make` gives, kept until many others have been asked for since. */
  function remember(key, make) {
    const found = remembered.has(key) ? remembered.get(key) : make();
    // Put back at the end, so that the first entry is the one that was asked for longest ago.
    remembered.delete(key);
    remembered.set(key, found);
    if (remembered.size > N_REMEMBERED) {
      remembered.delete(remembered.keys().next().value);
    }
    return found;
  }

  function inOriginalOrder(organised, columns, { query, key }) {
    const values = new Float32Array(organised.length);
    organised.forEach((value, i) => {
      const row = query[Math.floor(i / columns)];
      values[row * columns + key[i % columns]] = value;
    });
    return values;
  }

  /**
   * Attention of a head: rows, columns, its entries in the original order (`values`) and in the `organised`
   * one, row by row, and their `least`, `usual` and `largest`.
   */
  async function readMatrix(run, place, head) {
    const shown = run.data.shown[place];
    const rows = Math.ceil(shown.n_queries / shown.block);
    const columns = Math.ceil(shown.n_keys / shown.block);
    const { power } = shown.quantisation;
    const open = await Haarbor.organisedMaskOf(run, place);
    const matrix = async (name) =>
      Haarbor.restored(await run.blob(`batch-${place}-${name}-${head}`), rows, columns, power, open);
    const organised = await matrix("head");
    // Blocks are different in the two orders, so the page holds both.
    const values =
      shown.block > 1 ? await matrix("original") : inOriginalOrder(organised, columns, shown.orders);
    return { rows, columns, values, organised, ...Haarbor.endsOf(organised, power) };
  }

  /** Between which values the colours of a matrix go. */
  Haarbor.endsOf = (values, power) => {
    const sorted = Float32Array.from(values).sort();
    return {
      least: power === 2 ? 0 : sorted[0],
      // Nearly all entries lie below `usual`: a few large ones would leave the rest dark.
      usual: sorted[Math.floor(0.995 * (sorted.length - 1))],
      largest: Math.max(0, sorted[sorted.length - 1]),
    };
  };

  Haarbor.headMatrix = (run, place, head) =>
    remember(`${run.index}/${place}/${head}`, () => readMatrix(run, place, head));

  async function readMask(run, place) {
    const shown = run.data.shown[place];
    if (!shown.masked || shown.block > 1) {
      return null;
    }
    const bits = new Uint8Array(await run.blob(`batch-${place}-mask`));
    const open = new Uint8Array(shown.n_queries * shown.n_keys);
    for (let i = 0; i < open.length; i++) {
      open[i] = (bits[i >> 3] >> (7 - (i & 7))) & 1;
    }
    return open;
  }

  /** One number per entry in the original order, 0 where it is masked; null where every entry is open. */
  Haarbor.maskOf = (run, place) => remember(`${run.index}/${place}/mask`, () => readMask(run, place));

  async function readOrganisedMask(run, place) {
    const mask = await Haarbor.maskOf(run, place);
    if (!mask) {
      return null;
    }
    const { query, key } = run.data.shown[place].orders;
    const found = new Uint8Array(mask.length);
    for (let i = 0; i < found.length; i++) {
      const row = query[Math.floor(i / key.length)];
      found[i] = mask[row * key.length + key[i % key.length]];
    }
    return found;
  }

  /** The same in the organised order. */
  Haarbor.organisedMaskOf = (run, place) =>
    remember(`${run.index}/${place}/organised mask`, () => readOrganisedMask(run, place));

  /** Whether attention in a batch can be drawn on the picture that the network saw. */
  Haarbor.isOnPicture = (shown) => Boolean(shown.grid && shown.picture && shown.block === 1);

  /** The picture of a batch as a canvas; null where there is none. */
  Haarbor.pictureOf = async (run, place) => {
    const shown = run.data.shown[place];
    if (!shown.picture) {
      return null;
    }
    const [height, width] = shown.picture;
    const pixels = new Uint8Array(await run.blob(`batch-${place}-picture`));
    return Haarbor.paint(el("canvas", { width, height }), pixels, (i) => i);
  };

  /** Mean colour of every token's patch; null for tokens that are no patches. */
  Haarbor.patchColours = (picture, shown) => {
    const { first, rows, columns } = shown.grid;
    const small = el("canvas", { width: columns, height: rows });
    const context = small.getContext("2d");
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, 0, 0, columns, rows);
    const pixels = context.getImageData(0, 0, columns, rows).data;
    const colours = new Array(first).fill(null);
    for (let i = 0; i < pixels.length; i += 4) {
      colours.push(`rgb(${pixels[i]},${pixels[i + 1]},${pixels[i + 2]})`);
    }
    return colours;
  };

  /** All thumbnails of a batch on one sheet: its canvas, and how many lie side by side. */
  async function paintSheet(run, place, palette) {
    const steps = new Uint8Array(await run.blob(`batch-${place}-thumbnails`));
    const across = Math.ceil(Math.sqrt(run.nHeads));
    const down = Math.ceil(run.nHeads / across);
    const width = across * THUMBNAIL;
    const canvas = el("canvas", { width, height: down * THUMBNAIL });
    Haarbor.paint(canvas, Haarbor.palette(palette), (i) => {
      const x = i % width;
      const y = Math.floor(i / width);
      const head = Math.floor(y / THUMBNAIL) * across + Math.floor(x / THUMBNAIL);
      const row = y % THUMBNAIL;
      const column = x % THUMBNAIL;
      return head < run.nHeads ? steps[(head * THUMBNAIL + row) * THUMBNAIL + column] : null;
    });
    return { canvas, across };
  }

  function sheetOf(run) {
    const place = run.state.get("place");
    const palette = run.state.get("palette");
    const key = `${run.index}/${place}/${palette}`;
    if (!sheets.has(key)) {
      sheets.set(key, paintSheet(run, place, palette));
    }
    return sheets.get(key);
  }

  /** A canvas with the thumbnail of a head, as large as asked for. */
  Haarbor.thumbnail = (run, head, size) => {
    const canvas = el("canvas", {
      class: "thumbnail",
      width: THUMBNAIL,
      height: THUMBNAIL,
      "aria-hidden": "true",
      style: { width: `${size}px`, height: `${size}px` },
    });
    sheetOf(run).then((sheet) => {
      const left = (head % sheet.across) * THUMBNAIL;
      const top = Math.floor(head / sheet.across) * THUMBNAIL;
      const context = canvas.getContext("2d");
      context.drawImage(sheet.canvas, left, top, THUMBNAIL, THUMBNAIL, 0, 0, THUMBNAIL, THUMBNAIL);
    });
    return canvas;
  };
})();
