// One head in full: in both orders, on the picture or the text, by scale and batch, and its neighbours.
(() => {
  const { el } = Haarbor;

  function nearestHeads(run) {
    const { nearest, nearest_distances: distances } = run.data.geometry;
    const list = el("ol", { class: "neighbours" });

    function neighbour(head, distance) {
      const settings = {
        type: "button",
        class: "neighbour",
        "data-head": head,
        "aria-label": `Head ${run.names[head]}: open it`,
        on: run.reaction(head),
      };
      const button = el(
        "button",
        settings,
        Haarbor.thumbnail(run, head, 64),
        el("strong", {}, run.names[head]),
        el("span", { class: "pale" }, Haarbor.number(distance)),
      );
      return el("li", {}, button);
    }
    run.state.on(["chosen", "place", "palette"], ({ chosen }) => {
      const items = nearest[chosen].map((head, i) => neighbour(head, distances[chosen][i]));
      list.replaceChildren(...items);
    });
    const note = "By tree distance over all batches, nearest first.";
    return Haarbor.figure(run.id("nearest"), "Nearest heads", note, list);
  }

  /** Why the page draws no picture, where the run has one or image tokens; null where it has neither. */
  function withoutPicture({ shown }) {
    const [first] = shown;
    const hasImage = (first.key_kinds || first.query_kinds || []).includes("image");
    if (!hasImage) {
      return null;
    }
    return first.picture
      ? "The image tokens form no grid of patches, so that their weights are not drawn on the picture."
      : "The run holds no picture to draw the weights of the image tokens on.";
  }

  /** Attention on what the network saw: the picture, or the text; null where the page has neither. */
  function onInput(run) {
    const { state, data } = run;
    const hasPicture = data.shown.some(Haarbor.isOnPicture);
    const hasText = data.labels === "tokens" && data.shown[0].block === 1;
    if (!hasPicture && !hasText) {
      return null;
    }
    const text = hasText ? Haarbor.attentionText(run) : null;
    const view = hasPicture ? Haarbor.attentionImage(run, text) : text;
    state.on(["chosen", "place"], async () => {
      const place = state.get("place");
      view.show(place, await Haarbor.headMatrix(run, place, state.get("chosen")));
    });
    const seen = [hasPicture && "picture", hasText && "text"].filter(Boolean);
    const title = `Attention on the ${seen.join(" and the ")}`;
    return Haarbor.figure(run.id("on-input"), title, hasPicture ? null : withoutPicture(data), view.node);
  }

  /** One score of a head with its rank among all heads, the highest being the first. */
  function fact(score, head, isCurrent) {
    const value = score.values[head];
    const rank = score.values.filter((other) => other !== null && other > value).length + 1;
    return el(
      "div",
      { class: isCurrent ? "current" : null, title: score.meaning },
      el("dt", {}, score.label),
      el("dd", {}, Haarbor.number(value), el("small", {}, ` #${rank}`)),
    );
  }

  function batchSelect(run) {
    const { shown } = run.data;
    if (shown.length < 2) {
      return null;
    }
    const options = shown.map(({ batch }, place) => [String(place), String(batch)]);
    return Haarbor.select("Batch", options, "0", (value) =>
      run.state.set({ place: Number(value), query: null }),
    );
  }

  /** Name, portrait and scores of the chosen head, and the buttons to go on. */
  function explorerHead(run) {
    const { state, data } = run;
    const title = el("h3", { tabIndex: -1 });
    const facts = el("dl", { class: "facts" });
    const portrait = el("div", { class: "portrait" });
    const go = (by) => run.choose((state.get("chosen") + by + run.nHeads) % run.nHeads);
    state.on(["chosen", "score", "place", "palette"], ({ chosen, score }) => {
      const groups = data.head_groups;
      const group = groups
        ? `, key-value head ${groups[run.layerOf(chosen)][run.numberInLayer(chosen)]}`
        : null;
      const words = el("span", { class: "pale" }, run.headWords(chosen), group);
      title.replaceChildren(`Head ${run.names[chosen]} `, words);
      portrait.replaceChildren(Haarbor.thumbnail(run, chosen, 72));
      facts.replaceChildren(...data.scores.map((other) => fact(other, chosen, other.name === score)));
    });
    const controls = Haarbor.controls(
      Haarbor.button("\u2190", () => go(-1), { "aria-label": "Previous head" }),
      Haarbor.button("\u2192", () => go(1), { "aria-label": "Next head" }),
      Haarbor.button("Compare", () => run.toggle(state.get("chosen")), {
        title: "Add this head to the comparison, or take it out",
      }),
      batchSelect(run),
    );
    const node = el(
      "div",
      { class: "explorer-head" },
      portrait,
      el("div", { class: "grow" }, title, facts),
      controls,
    );
    flashWhenChosen(run, node);
    return node;
  }

  /** The portrait flashes when another head is opened, perhaps from afar. */
  function flashWhenChosen(run, node) {
    let isFirst = true;
    run.state.on(["chosen"], () => {
      if (!isFirst) {
        node.classList.remove("flash");
        // Asking for the width makes the browser notice that the class was gone.
        node.getBoundingClientRect();
        node.classList.add("flash");
      }
      isFirst = false;
    });
  }

  Haarbor.explorer = (run, side) => {
    const card = el(
      "div",
      { class: "card explorer", id: run.id("explorer-card") },
      explorerHead(run),
      el("div", {}, Haarbor.attention(run)),
    );
    const pair = el("div", { class: "two" }, Haarbor.overBatches(run), nearestHeads(run));
    Haarbor.put(side, card, onInput(run), Haarbor.haarScales(run), pair);
  };
})();
