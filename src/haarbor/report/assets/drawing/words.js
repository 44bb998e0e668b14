// Tokens and numbers as they are written in the page.
(() => {
  /** Text of a token as it can be seen: spaces and line ends have signs of their own. */
  Haarbor.tokenText = (text, most = 24) => {
    const shown = text
      .replace(/^[\u0120\u2581]/, " ")
      .replace(/[\u010a\n]/g, "\u23ce")
      .replace(/\t/g, "\u21e5")
      .replace(/\p{Cc}|\p{Cs}|[\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
    const trimmed = shown.length > 1 ? shown.trimStart() : shown;
    const visible = trimmed === "" || trimmed === " " ? "\u2423" : trimmed;
    const letters = Array.from(visible);
    return letters.length > most ? letters.slice(0, most - 1).join("") + "\u2026" : visible;
  };

  /** A number with so many significant digits and a proper minus sign; a dash where there is none. */
  Haarbor.number = (value, digits = 3) => {
    if (value === null || value === undefined || Number.isNaN(value)) {
      return "\u2013";
    }
    if (value === 0) {
      return "0";
    }
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-4) {
      const text = value.toExponential(Math.max(1, digits - 1));
      return text.replace("-", "\u2212").replace("+", "");
    }
    return String(Number(value.toPrecision(digits))).replace("-", "\u2212");
  };
})();
