// What the reader works the page with, and the frame around every picture.
(() => {
  const { el } = Haarbor;

  Haarbor.button = (text, act, settings = {}) =>
    el("button", { type: "button", ...settings, on: { click: act } }, text);

  /** A label with its list of [value, text], so that both are one target. */
  Haarbor.select = (label, options, current, change) => {
    const control = el(
      "select",
      { "aria-label": label, on: { change: () => change(control.value) } },
      options.map(([value, text]) => el("option", { value }, text)),
    );
    control.value = current;
    return el("label", { class: "control" }, el("span", {}, label), control);
  };

  /** A list that says what a state holds, and changes it. */
  Haarbor.stateSelect = (state, key, label, options) => {
    const texts = new Map(options.map(([value]) => [String(value), value]));
    const node = Haarbor.select(label, options, String(state.get(key)), (text) =>
      state.set({ [key]: texts.get(text) }),
    );
    const control = node.querySelector("select");
    control.dataset.role = key;
    state.on([key], (now) => {
      control.value = String(now[key]);
    });
    return node;
  };

  /** Buttons that say what a state holds, and change it. */
  Haarbor.stateChoice = (state, key, label, options) => {
    const node = Haarbor.choice(label, options, state.get(key), (value) => state.set({ [key]: value }));
    state.on([key], (now) => node.mark(now[key]));
    return node;
  };

  /** One choice among a few [value, text], as buttons of which one is pressed. */
  Haarbor.choice = (label, options, current, change) => {
    const buttons = options.map(([value, text]) => {
      const pick = () => {
        mark(value);
        change(value);
      };
      return Haarbor.button(text, pick, {
        "aria-pressed": String(value === current),
        "data-value": value,
      });
    });
    function mark(value) {
      for (const button of buttons) {
        button.setAttribute("aria-pressed", String(button.dataset.value === String(value)));
      }
    }
    const node = el("span", { class: "choice", role: "group", "aria-label": label }, buttons);
    return Object.assign(node, { mark });
  };

  /** The two ends of a scale of colours and what lies between; `show` gives it colours and five ticks. */
  Haarbor.scaleBar = () => {
    const bar = el("canvas", { class: "legend-bar", width: 256, height: 1, "aria-hidden": "true" });
    const ticks = el("div", { class: "legend-ticks" });
    return {
      nodes: [bar, ticks],
      show(palette, tickAt) {
        Haarbor.paint(bar, Haarbor.palette(palette), (i) => i);
        const texts = [0, 0.25, 0.5, 0.75, 1].map((share) => el("span", {}, tickAt(share)));
        ticks.replaceChildren(...texts);
      },
    };
  };

  Haarbor.controls = (...children) => el("div", { class: "controls" }, children);

  Haarbor.figure = (id, title, note, ...children) => {
    const node = el("figure", { id, class: "card" });
    const save = Haarbor.saveButtons(node, id);
    const heading = el("div", { class: "heading" }, el("h3", {}, title), save);
    const caption = el("figcaption", {}, heading, note ? el("p", { class: "note" }, note) : null);
    Haarbor.put(node, caption, children);
    // Whatever can be taken away stands in one place.
    save.append(...node.querySelectorAll(":scope > .controls > button.csv"));
    return node;
  };

  /** What colours mean, beside a chart rather than on it: [colour, words] each. */
  Haarbor.swatches = (items) =>
    el(
      "p",
      { class: "legend swatches" },
      items.map(([colour, words]) =>
        el("span", {}, el("i", { style: { background: colour }, "aria-hidden": "true" }), words),
      ),
    );
})();
