// Files in a zip archive without compression, dated 1 January 1980 as the format's beginning.
(() => {
  const LOCAL_HEADER = { signature: 0x04034b50, size: 30 };
  const DIRECTORY_HEADER = { signature: 0x02014b50, size: 46 };
  const DIRECTORY_END = { signature: 0x06054b50, size: 22 };
  const VERSION = 20;
  const NAMES_IN_UTF8 = 0x800;
  const FIRST_DAY = 0x21;

  const CHECKSUMS = Array.from({ length: 256 }, (_, byte) => {
    let sum = byte;
    for (let bit = 0; bit < 8; bit++) {
      sum = sum & 1 ? 0xedb88320 ^ (sum >>> 1) : sum >>> 1;
    }
    return sum >>> 0;
  });

  function checksum(bytes) {
    let sum = 0xffffffff;
    for (const byte of bytes) {
      sum = CHECKSUMS[(sum ^ byte) & 255] ^ (sum >>> 8);
    }
    return (sum ^ 0xffffffff) >>> 0;
  }

  /** A header of a given size with [value, number of bytes] one after the other behind its signature. */
  function header({ signature, size }, fields) {
    const view = new DataView(new ArrayBuffer(size));
    let place = 0;
    for (const [value, width] of [[signature, 4], ...fields]) {
      if (width === 2) {
        view.setUint16(place, value, true);
      } else {
        view.setUint32(place, value, true);
      }
      place += width;
    }
    return new Uint8Array(view.buffer);
  }

  /** What the headers of a file in the archive and in its directory share. */
  function fileFields(name, bytes) {
    return [
      [VERSION, 2],
      [NAMES_IN_UTF8, 2],
      [0, 2], // method: stored as it is
      [0, 2], // time
      [FIRST_DAY, 2],
      [checksum(bytes), 4],
      [bytes.length, 4],
      [bytes.length, 4],
      [name.length, 2],
      [0, 2], // no extra field
    ];
  }

  /** An archive of [name, bytes] as a blob. */
  Haarbor.zipArchive = (files) => {
    const parts = [];
    const directory = [];
    let offset = 0;
    for (const [title, bytes] of files) {
      const name = new TextEncoder().encode(title);
      const fields = fileFields(name, bytes);
      // Comment, disk and attributes: none.
      const rest = [
        [0, 2],
        [0, 2],
        [0, 2],
        [0, 4],
        [offset, 4],
      ];
      parts.push(header(LOCAL_HEADER, fields), name, bytes);
      directory.push(header(DIRECTORY_HEADER, [[VERSION, 2], ...fields, ...rest]), name);
      offset += LOCAL_HEADER.size + name.length + bytes.length;
    }
    const end = header(DIRECTORY_END, [
      [0, 2],
      [0, 2],
      [files.length, 2],
      [files.length, 2],
      [Haarbor.sum(directory.map((part) => part.length)), 4],
      [offset, 4],
    ]);
    return new Blob([...parts, ...directory, end], { type: "application/zip" });
  };
})();
