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
    return el("span", { class: "choice", role: "group", "aria-label": label }, buttons);
  };

  /** The two ends of a scale of colours and what lies between; `show` gives it colours and five ticks. */
  Haarbor.scaleBar = () => {
    const bar = el("div", { class: "legend-bar" });
    const ticks = el("div", { class: "legend-ticks" });
    return {
      nodes: [bar, ticks],
      show(palette, tickAt) {
        bar.style.background = Haarbor.gradient(palette);
        const texts = [0, 0.25, 0.5, 0.75, 1].map((share) => el("span", {}, tickAt(share)));
        ticks.replaceChildren(...texts);
      },
    };
  };

  Haarbor.controls = (...children) => el("div", { class: "controls" }, children);

  Haarbor.figure = (id, title, note, ...children) => {
    const caption = el("figcaption", {}, el("h3", {}, title), note ? el("p", { class: "note" }, note) : null);
    return el("figure", { id, class: "card" }, caption, children);
  };
})();
