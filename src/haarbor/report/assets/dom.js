"use strict";
const Haarbor = {};

// Elements and their text. Text from a run only ever becomes a text node or an attribute, never markup.
(() => {
  const apply = (node, properties) => {
    for (const [name, value] of Object.entries(properties || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
      else if (name === "style") for (const [rule, text] of Object.entries(value)) node.style.setProperty(rule, text);
      else if (name === "value" || name === "checked" || name === "disabled" || name === "tabIndex") node[name] = value;
      else node.setAttribute(name, value === true ? "" : String(value));
    }
  };
  const fill = (node, children) => {
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return node;
  };
  // Children that are null are left out, unlike by `append`.
  Haarbor.put = (node, ...children) => fill(node, children);
  Haarbor.el = (tag, properties, ...children) => {
    const node = document.createElement(tag);
    apply(node, properties);
    return fill(node, children);
  };
  Haarbor.svg = (tag, properties, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    apply(node, properties);
    return fill(node, children);
  };

  // Text of a token as it can be seen: spaces and line ends have signs of their own.
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

  Haarbor.number = (value, digits = 3) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "\u2013";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-4) return value.toExponential(Math.max(1, digits - 1)).replace("-", "\u2212").replace("+", "");
    return String(Number(value.toPrecision(digits))).replace("-", "\u2212");
  };

  // A label with its control, so that both are one target.
  Haarbor.select = (label, options, current, change) => {
    const control = Haarbor.el("select", { "aria-label": label, on: { change: () => change(control.value) } },
      options.map(([value, text]) => Haarbor.el("option", { value }, text)));
    control.value = current;
    return Haarbor.el("label", { class: "control" }, Haarbor.el("span", {}, label), control);
  };
  Haarbor.button = (text, act, properties = {}) =>
    Haarbor.el("button", { type: "button", ...properties, on: { click: act } }, text);
  // One choice among a few, as buttons of which one is pressed.
  Haarbor.choice = (label, options, current, change) => {
    const buttons = options.map(([value, text]) =>
      Haarbor.button(text, () => { mark(value); change(value); }, { "aria-pressed": String(value === current), "data-value": value }));
    const mark = (value) => buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.value === String(value))));
    const node = Haarbor.el("span", { class: "choice", role: "group", "aria-label": label }, buttons);
    node.mark = mark;
    return node;
  };
  Haarbor.figure = (id, title, note, ...children) =>
    Haarbor.el("figure", { id, class: "card" },
      Haarbor.el("figcaption", {}, Haarbor.el("h3", {}, title), note ? Haarbor.el("p", { class: "note" }, note) : null),
      children);
  // Follows the width of an element; calls at once and on every change.
  Haarbor.onWidth = (node, act) => {
    let last = -1;
    new ResizeObserver(() => {
      const width = Math.floor(node.clientWidth);
      if (width > 0 && width !== last) { last = width; act(width); }
    }).observe(node);
  };
  // A canvas as sharp as the screen; gives its context scaled to CSS pixels.
  Haarbor.sized = (canvas, width, height) => {
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  };
  Haarbor.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
})();
