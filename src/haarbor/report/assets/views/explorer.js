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
    const hidden = el("p", { class: "first-token" });
    let request = 0;
    state.on(["chosen", "place", "firstToken"], async () => {
      request++;
      const turn = request;
      const place = state.get("place");
      hidden.textContent = Haarbor.firstTokenWords(run);
      hidden.hidden = hidden.textContent === "";
      const found = await Haarbor.shownMatrix(run, place, state.get("chosen"));
      if (turn === request) {
        view.show(place, found);
      }
    });
    const seen = [hasPicture && "picture", hasText && "text"].filter(Boolean);
    const title = `Attention on the ${seen.join(" and the ")}`;
    return Haarbor.figure(
      run.id("on-input"),
      title,
      hasPicture ? null : withoutPicture(data),
      hidden,
      view.node,
    );
  }

  /** Which batch is looked at, and how many others there are. */
  function batchSelect(run) {
    const { shown } = run.data;
    if (shown.length < 2) {
      return null;
    }
    const options = shown.map(({ batch }, place) => [place, String(batch)]);
    return Haarbor.stateSelect(run.state, "place", "Batch", options);
  }

  /** What is said of batches whose matrices are not in the page; null where all are. */
  function leftOut(run) {
    const { shown, batches } = run.data;
    const n = batches.length - shown.length;
    if (n === 0) {
      return null;
    }
    const which = n === 1 ? "one batch is" : `${n} batches are`;
    const words =
      `Of ${batches.length} batches the matrices of ${shown.length} can be looked at here; ` +
      `${which} left out so that the page stays small. All take part in scores, trees and stability. `;
    const command = el("code", {}, `haarbor report ${run.data.name} --batches ${batches.length}`);
    return el("p", { class: "note left-out" }, words, command, " puts all of them in.");
  }

  /** Name, portrait and scores of the chosen head, and the buttons to go on. */
  function explorerHead(run, card) {
    const { state, data } = run;
    const title = el("h3", { tabIndex: -1 });
    const portrait = el("div", { class: "portrait" });
    const go = (by) => run.choose((state.get("chosen") + by + run.nHeads) % run.nHeads);
    state.on(["chosen", "place", "palette"], ({ chosen }) => {
      const groups = data.head_groups;
      const group = groups
        ? `, key-value head ${groups[run.layerOf(chosen)][run.numberInLayer(chosen)]}`
        : null;
      const words = el("span", { class: "pale" }, run.headWords(chosen), group);
      title.replaceChildren(`Head ${run.names[chosen]} `, words);
      portrait.replaceChildren(Haarbor.thumbnail(run, chosen, 72));
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
      el("div", { class: "grow" }, title, controls),
      Haarbor.saveButtons(card, run.id("head")),
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
    const card = el("div", { class: "card explorer", id: run.id("explorer-card") });
    Haarbor.put(
      card,
      explorerHead(run, card),
      Haarbor.scoreFacts(run),
      el("div", {}, Haarbor.attention(run)),
      leftOut(run),
    );
    const overBatches = Haarbor.overBatches(run);
    const nearest = nearestHeads(run);
    const pair = overBatches ? el("div", { class: "two" }, overBatches, nearest) : nearest;
    Haarbor.put(side, card, onInput(run), Haarbor.haarScales(run), pair);
  };
})();
