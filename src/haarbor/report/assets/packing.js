// From the packed text in the page back to numbers (_packing.py); a piece is unpacked when first looked at.
(() => {
  const unpacked = new Map();

  function bytesFromBase64(text) {
    if (Uint8Array.fromBase64) {
      return Uint8Array.fromBase64(text);
    }
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) {
      bytes[i] = letters.charCodeAt(i);
    }
    return bytes;
  }

  /** The bytes of the element with this id, once they are there. */
  Haarbor.unpack = (id) => {
    if (!unpacked.has(id)) {
      const packed = bytesFromBase64(document.getElementById(id).textContent);
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
      unpacked.set(id, new Response(stream).arrayBuffer());
    }
    return unpacked.get(id);
  };

  /**
   * Entries of a matrix that is kept as one byte per entry, each row on its own scale; of those that are not
   * `open`, if that is given, nothing is kept, and they are the least of their rows.
   */
  Haarbor.restored = (buffer, rows, columns, power, open = null) => {
    const offsets = new Float32Array(buffer, 0, rows);
    const scales = new Float32Array(buffer, 4 * rows, rows);
    const steps = new Uint8Array(buffer, 8 * rows);
    const values = new Float32Array(rows * columns);
    let next = 0;
    for (let i = 0; i < values.length; i++) {
      const row = Math.floor(i / columns);
      const share = !open || open[i] ? steps[next++] / 255 : 0;
      values[i] = offsets[row] + scales[row] * (power === 2 ? share * share : share);
    }
    return values;
  };
})();
