// Colour scales that the colour-blind can read, and that stay ordered in grey.
(() => {
  const N_STEPS = 256;
  const { between } = Haarbor;
  // Colours at even distances along each scale.
  const STOPS = {
    viridis:
      "440154 471164 482071 472e7c 443b84 3f4889 3a548c 34608d 2f6c8e 2a768e 26818e 228b8d " +
      "1f958b 1fa088 24aa83 2fb47c 42be71 58c765 70cf57 8bd646 a8db34 c5e021 e2e418 fde725",
    cividis:
      "00224e 002a61 003171 1c396f 2d416d 3a486c 45506c 50576c 5b606e 656870 6e6f73 777777 " +
      "817f78 8c8878 969077 a19975 ada272 b9ab6d c4b468 d0be62 dcc859 e8d24f f5dc41 fee838",
    signed: "2d004b 532687 8073ac b1aad1 d8daeb f7f7f6 fee0b6 fcb761 e08214 b25706 7f3b08",
  };
  const tables = new Map();

  function parsed(hex) {
    return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  }

  /** Red, green and blue of all steps of a scale, one after the other. */
  function table(name) {
    const stops = STOPS[name].split(" ").map(parsed);
    const found = new Uint8Array(3 * N_STEPS);
    for (let step = 0; step < N_STEPS; step++) {
      const place = (step / (N_STEPS - 1)) * (stops.length - 1);
      const low = Math.min(Math.floor(place), stops.length - 2);
      const share = place - low;
      for (let k = 0; k < 3; k++) {
        found[3 * step + k] = Math.round(stops[low][k] * (1 - share) + stops[low + 1][k] * share);
      }
    }
    return found;
  }

  Haarbor.PALETTES = ["viridis", "cividis"];

  Haarbor.palette = (name) => {
    if (!tables.has(name)) {
      tables.set(name, table(name));
    }
    return tables.get(name);
  };

  function isUnknown(share) {
    return share === null || Number.isNaN(share);
  }

  function components(step, name) {
    return Haarbor.palette(name).subarray(3 * step, 3 * step + 3);
  }

  function nearestStep(share) {
    return between(Math.round((N_STEPS - 1) * share), 0, N_STEPS - 1);
  }

  /** A step of a scale, from 0 to 255, as CSS writes it. */
  Haarbor.stepColour = (step, name) => `rgb(${components(step, name).join(",")})`;

  /** The colour of a share of a scale, from 0 to 1. */
  Haarbor.colour = (share, name = "viridis") =>
    isUnknown(share) ? "var(--closed)" : Haarbor.stepColour(nearestStep(share), name);

  Haarbor.seeThroughColour = (share, name, alpha) =>
    `rgba(${components(nearestStep(share), name).join(",")},${alpha})`;

  /** Ink that can be read on a colour of the scale. */
  Haarbor.inkOn = (share, name = "viridis") => {
    if (isUnknown(share)) {
      return "var(--ink)";
    }
    const [red, green, blue] = components(nearestStep(share), name);
    const brightness = 0.299 * red + 0.587 * green + 0.114 * blue;
    return brightness > 140 ? "#111" : "#fff";
  };

  /** Place of every value on the scale, from 0 to 1: by rank, or by value between the `ends`. */
  Haarbor.shares = (values, by = "values", ends = null) => {
    const known = values.filter((value) => value !== null);
    const shareOf = by === "ranks" ? rankShare(known) : valueShare(ends || Haarbor.endsOfKnown(known));
    return values.map((value) => (value === null ? null : shareOf(value)));
  };

  function rankShare(known) {
    const sorted = [...known].sort((a, b) => a - b);
    const ranks = new Map(sorted.map((value, rank) => [value, rank]));
    return (value) => (sorted.length > 1 ? ranks.get(value) / (sorted.length - 1) : 0.5);
  }

  /** The least and the largest of some values, those that are null left out. */
  Haarbor.endsOfKnown = (values) => {
    const known = values.filter((value) => value !== null);
    return [Math.min(...known), Math.max(...known)];
  };

  function valueShare([least, most]) {
    return (value) => (most > least ? (value - least) / (most - least) : 0.5);
  }
})();
