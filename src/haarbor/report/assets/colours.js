// Colour scales that the colour-blind can read, and that stay ordered in grey.
(() => {
  const stops = (text) => text.match(/.{6}/g).map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  const PALETTES = {
    viridis: stops("440154471164482071472e7c443b843f48893a548c34608d2f6c8e2a768e26818e228b8d1f958b1fa08824aa832fb47c42be7158c76570cf578bd646a8db34c5e021e2e418fde725"),
    cividis: stops("00224e002a610031711c396f2d416d3a486c45506c50576c5b606e6568706e6f73777777817f788c8878969077a19975ada272b9ab6dc4b468d0be62dcc859e8d24ff5dc41fee838"),
    signed: stops("2d004b5326878073acb1aad1d8daebf7f7f6fee0b6fcb761e08214b257067f3b08"),
  };
  const table = (name) => {
    const colours = PALETTES[name];
    const found = new Uint8Array(256 * 3);
    for (let i = 0; i < 256; i++) {
      const at = (i / 255) * (colours.length - 1), low = Math.min(Math.floor(at), colours.length - 2), share = at - low;
      for (let k = 0; k < 3; k++) found[3 * i + k] = Math.round(colours[low][k] * (1 - share) + colours[low + 1][k] * share);
    }
    return found;
  };
  const tables = {};
  Haarbor.palette = (name) => (tables[name] = tables[name] || table(name));
  Haarbor.PALETTES = ["viridis", "cividis"];
  Haarbor.colour = (share, name = "viridis") => {
    if (share === null || Number.isNaN(share)) return "var(--closed)";
    const rgb = Haarbor.palette(name), i = 3 * Math.max(0, Math.min(255, Math.round(255 * share)));
    return `rgb(${rgb[i]},${rgb[i + 1]},${rgb[i + 2]})`;
  };
  // Ink that can be read on a colour of the scale.
  Haarbor.inkOn = (share, name = "viridis") => {
    if (share === null || Number.isNaN(share)) return "var(--ink)";
    const rgb = Haarbor.palette(name), i = 3 * Math.max(0, Math.min(255, Math.round(255 * share)));
    return 0.299 * rgb[i] + 0.587 * rgb[i + 1] + 0.114 * rgb[i + 2] > 140 ? "#111" : "#fff";
  };
  Haarbor.gradient = (name) => {
    const rgb = Haarbor.palette(name), parts = [];
    for (let i = 0; i <= 255; i += 15) parts.push(`rgb(${rgb[3 * i]},${rgb[3 * i + 1]},${rgb[3 * i + 2]})`);
    return `linear-gradient(to right, ${parts.join(", ")})`;
  };
  // Place of every value on the scale, from 0 to 1: by value, or by rank.
  Haarbor.shares = (values, by = "values") => {
    const numbers = values.filter((v) => v !== null);
    const least = Math.min(...numbers), most = Math.max(...numbers);
    if (by === "ranks") {
      const sorted = [...numbers].sort((a, b) => a - b);
      const rank = new Map(sorted.map((v, i) => [v, i]));
      return values.map((v) => (v === null ? null : sorted.length > 1 ? rank.get(v) / (sorted.length - 1) : 0.5));
    }
    return values.map((v) => (v === null ? null : most > least ? (v - least) / (most - least) : 0.5));
  };
})();
