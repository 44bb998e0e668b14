// The small card beside the pointer: a head with its picture, or lines of text.
(() => {
  const { el } = Haarbor;
  const GAP = 14;
  const EDGE = 6;
  const N_NEAREST = 3;
  let card = null;

  /** Place along an axis: after the pointer, or before it where the window ends. */
  function besidePointer(pointer, size, room) {
    const after = pointer + GAP;
    return after + size > room - EDGE ? Math.max(EDGE, pointer - GAP - size) : after;
  }

  function moveBeside(event) {
    card.hidden = false;
    const { offsetWidth, offsetHeight } = card;
    card.style.left = `${besidePointer(event.clientX, offsetWidth, window.innerWidth)}px`;
    card.style.top = `${besidePointer(event.clientY, offsetHeight, window.innerHeight)}px`;
  }

  function show(event, ...content) {
    if (card === null) {
      card = el("div", { class: "tooltip", role: "status", "aria-live": "off" });
      document.body.append(card);
      moveBeside(event);
    }
    card.replaceChildren(...content);
    moveBeside(event);
  }

  Haarbor.tooltip = {
    head(run, head, event) {
      const score = run.score();
      const nearest = run.data.geometry.nearest[head].slice(0, N_NEAREST);
      const names = nearest.map((other) => run.names[other]).join(", ");
      const words = el(
        "div",
        {},
        el("strong", {}, run.names[head]),
        el("span", { class: "pale" }, ` ${run.headWords(head)}`),
        el("div", {}, `${score.label}: ${Haarbor.number(score.values[head])}`),
        nearest.length ? el("div", { class: "pale" }, `nearest: ${names}`) : null,
      );
      show(event, Haarbor.thumbnail(run, head, 88), words);
    },
    text(event, ...lines) {
      const rows = lines.map((line) => el("div", {}, line));
      show(event, el("div", {}, rows));
    },
    /** Lines of text below an element, for those who reach it by keyboard, too. */
    beside(node, ...lines) {
      const box = node.getBoundingClientRect();
      this.text({ clientX: box.left - GAP, clientY: box.bottom - GAP / 2 }, ...lines);
    },
    hide() {
      if (card !== null) {
        card.hidden = true;
      }
    },
  };

  /** Lets an element tell these lines when it is pointed at or reached by keyboard. */
  Haarbor.explained = (node, ...lines) => {
    const tell = () => Haarbor.tooltip.beside(node, ...lines);
    const isTouch = (event) => event.pointerType === "touch";
    node.addEventListener("pointerenter", (event) => (isTouch(event) ? null : tell()));
    node.addEventListener("pointerleave", Haarbor.tooltip.hide);
    node.addEventListener("focus", tell);
    node.addEventListener("blur", Haarbor.tooltip.hide);
    node.addEventListener("keydown", (event) => (event.key === "Escape" ? Haarbor.tooltip.hide() : null));
    node.setAttribute("aria-description", lines.join(" "));
    return node;
  };

  /** What a score means, as lines for `Haarbor.explained`. */
  Haarbor.scoreLines = ({ label, plain, low, high }) => [
    el("strong", {}, label),
    plain,
    `Low: ${low}. High: ${high}.`,
  ];
})();
