// The box in which a head is found by its name, or all heads of a layer.
(() => {
  const { el } = Haarbor;

  /** Heads that are meant by a text such as "3.7", "layer 3", "layer 3 head 7" or "head 7". */
  function headsMeant(run, text) {
    const wanted = text.trim().toLowerCase().replace(/\s+/g, " ");
    const both = wanted.match(/^(?:layer )?(\d+)(?:\.|[ ,]+(?:head )?)(\d+)$/);
    const layer = wanted.match(/^(?:layer )?(\d+)\.?$/);
    const number = wanted.match(/^head (\d+)$/);
    const heads = [...run.names.keys()];
    if (both) {
      const name = `${Number(both[1])}.${Number(both[2])}`;
      return heads.filter((head) => run.names[head] === name);
    }
    if (layer) {
      return heads.filter((head) => run.layerOf(head) === Number(layer[1]));
    }
    return number ? heads.filter((head) => run.numberInLayer(head) === Number(number[1])) : [];
  }

  /** What is answered beside the box, from the numbers of heads found in every run. */
  function answerTo(text, counts) {
    if (text.trim() === "") {
      return "";
    }
    if (counts.every((count) => count === 0)) {
      return "no such head";
    }
    return counts[0] === 1 ? "press Enter to open" : `${Math.max(...counts)} heads marked`;
  }

  function open(run, head) {
    run.choose(head);
    const card = document.getElementById(run.id("explorer-card"));
    card.scrollIntoView({ behavior: "smooth", block: "start" });
  }

  Haarbor.search = (runs) => {
    const answer = el("span", { class: "note", role: "status", "aria-live": "polite" });
    const input = el("input", {
      type: "search",
      id: "search",
      placeholder: "Find a head, as 3.7",
      "aria-label": "Find a head, such as 3.7, or layer 3",
      autocomplete: "off",
      spellcheck: "false",
    });

    function find(opens) {
      const counts = runs.map((run) => {
        const heads = headsMeant(run, input.value);
        if (heads.length === 1) {
          run.state.set({ hovered: heads[0] });
          if (opens) {
            open(run, heads[0]);
          }
        } else if (heads.length) {
          run.brush(heads);
        }
        return heads.length;
      });
      answer.textContent = answerTo(input.value, counts);
    }

    input.addEventListener("input", () => find(false));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        find(true);
      }
      if (event.key === "Escape") {
        input.value = "";
        find(false);
        runs.forEach((run) => run.state.set({ hovered: null }));
      }
    });
    return el("span", { class: "find" }, input, answer);
  };
})();
