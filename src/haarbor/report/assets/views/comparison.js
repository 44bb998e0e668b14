// The heads picked to be compared: side by side, their scores in one table, and how far apart they lie.
(() => {
  const { el } = Haarbor;
  const N_LISTED = 24;
  const N_BESIDE = 6;
  const ORDERS = [
    ["original", "Original order"],
    ["organised", "Organised order"],
  ];
  const COLOURS = [
    ["common", "One scale for all"],
    ["own", "Each its own"],
  ];
  const HINT =
    "Pick two heads or more: Shift-click them or drag a rectangle over them in the head map, draw around " +
    "them in the diffusion map, or press a folder of the tree. They are then shown here side by side.";

  function meanDistance(run, heads, distances) {
    const pairs = heads.flatMap((one, i) =>
      heads.slice(i + 1).map((two) => distances[one * run.nHeads + two]),
    );
    return Haarbor.mean(pairs);
  }

  function distanceWords(run, heads, distances) {
    const distance = meanDistance(run, heads, distances);
    const times = Haarbor.number(distance / (run.data.median_distance || 1), 2);
    const which = heads.length === 2 ? "The distance between them is" : "Their distances are on average";
    return `${which} ${Haarbor.number(distance)}, ${times} times the median of all pairs of heads.`;
  }

  /** The compared heads, those with the largest values of a score first; as they come without one. */
  function sortedHeads(run, by) {
    const heads = run.state.get("brushed");
    if (by === null) {
      return heads;
    }
    const { values } = run.scoreNamed(by);
    return [...heads].sort((a, b) => (values[b] ?? -Infinity) - (values[a] ?? -Infinity));
  }

  /** The cards of the compared heads, with the choice of their order and colours. */
  function besideEachOther(run, sorting, clear) {
    const { state } = run;
    const grid = el("div", { class: "compared-heads" });
    const more = Haarbor.button("", () => {
      nShown += N_BESIDE;
      draw();
    });
    let order = "organised";
    let colours = "common";
    let nShown = N_BESIDE;
    const cards = [];
    let request = 0;

    /** A card more; pointing at an entry of its matrix marks it in all, and picking one picks its token. */
    function addCard() {
      const card = Haarbor.comparedCard(run);
      card.matrix.onPoint = (entry) => cards.forEach((other) => other.matrix.point(entry));
      card.matrix.onPick = ([row]) => {
        const { orders, block } = run.data.shown[state.get("place")];
        if (block === 1) {
          state.set({ query: order === "organised" ? orders.query[row] : row });
        }
      };
      cards.push(card);
    }

    /** Gives the heads to the cards, which are used again and again. */
    function dealCards(heads) {
      while (cards.length < heads.length) {
        addCard();
      }
      heads.forEach((head, i) => cards[i].setHead(head));
      grid.replaceChildren(...heads.map((_, i) => cards[i].node));
    }

    async function draw() {
      request++;
      const turn = request;
      const heads = sortedHeads(run, sorting.get("by"));
      const listed = heads.length > 1 ? heads.slice(0, nShown) : [];
      const nLeft = heads.length - listed.length;
      dealCards(listed);
      more.hidden = listed.length === 0 || nLeft === 0;
      more.textContent = `Show ${Math.min(nLeft, N_BESIDE)} more of ${heads.length}`;
      const gathered = await Promise.all(listed.map((head) => Haarbor.gatheredHead(run, head)));
      if (turn !== request) {
        return;
      }
      const tops = gathered.map((each) => Haarbor.brightest(each).top);
      const common = Math.max(...tops);
      const least = Math.min(...gathered.map(({ found }) => found.least));
      gathered.forEach((each, i) => {
        const onCommon = { ...each, found: { ...each.found, least } };
        const isOwn = colours === "own";
        cards[i].show(isOwn ? each : onCommon, isOwn ? tops[i] : common, order);
      });
    }

    const chosenOrder = Haarbor.choice("Order of the tokens", ORDERS, order, (value) => {
      order = value;
      draw();
    });
    const chosenColours = Haarbor.choice("Colours", COLOURS, colours, (value) => {
      colours = value;
      draw();
    });
    const controls = Haarbor.controls(
      chosenOrder,
      el("span", { class: "control" }, "Colours", chosenColours),
      Haarbor.stateChoice(state, "direction", "Direction", Haarbor.DIRECTIONS),
      Haarbor.firstTokenSelect(run),
      clear,
    );
    state.on(["brushed"], () => {
      nShown = N_BESIDE;
    });
    state.on(["brushed", "place", "palette", "bright", "firstToken", "folderLevel"], draw);
    sorting.on(["by"], draw);
    state.on(["pointed", "query", "direction"], () => cards.forEach((card) => card.redraw()));
    return [controls, grid, el("p", {}, more)];
  }

  /** The scores of the compared heads, one column each; pressing a score sorts the heads by it. */
  function scoreTable(run, sorting) {
    const { state, data } = run;
    const node = el("div", {
      class: "scroll",
      tabIndex: 0,
      role: "region",
      "aria-label": "Scores of the compared heads",
    });

    function sortButton(score) {
      const sort = () => {
        sorting.set({ by: sorting.get("by") === score.name ? null : score.name });
        node.querySelector(`[data-score="${score.name}"]`).focus();
      };
      const button = Haarbor.button(score.label, sort, { class: "sort", "data-score": score.name });
      return Haarbor.explained(button, ...Haarbor.scoreLines(score), "Press to sort the heads by it.");
    }

    function scoreRow(score, heads) {
      const shares = Haarbor.shares(score.values);
      const cells = heads.map((head) => {
        const style = { "--share": `${Math.round(100 * (shares[head] ?? 0))}%` };
        return el("td", { class: "shared", style, "data-head": head }, Haarbor.number(score.values[head]));
      });
      const isSorted = sorting.get("by") === score.name;
      const heading = { scope: "row", class: isSorted ? "sorted" : null };
      return el("tr", {}, el("th", heading, sortButton(score)), cells);
    }

    function groupRows([group, scores], heads) {
      const heading = el("th", { scope: "rowgroup", colspan: heads.length + 1, class: "group" }, group);
      return el(
        "tbody",
        {},
        el("tr", {}, heading),
        scores.map((score) => scoreRow(score, heads)),
      );
    }

    function draw() {
      const all = sortedHeads(run, sorting.get("by"));
      const heads = all.slice(0, N_LISTED);
      const names = heads.map((head) => el("th", { scope: "col", "data-head": head }, run.chip(head)));
      const groups = Haarbor.scoreGroups(data.scores).map((group) => groupRows(group, heads));
      node.replaceChildren(
        el("table", { class: "compared-scores" }, el("thead", {}, el("tr", {}, el("th", {}), names)), groups),
      );
      if (all.length > N_LISTED) {
        node.append(el("p", { class: "note" }, `The first ${N_LISTED} are listed; the CSV holds all.`));
      }
    }
    state.on(["brushed"], draw);
    sorting.on(["by"], draw);
    return node;
  }

  function addTable(run) {
    const { scores } = run.data;
    Haarbor.addTable(run, {
      name: "comparison",
      title: "Heads being compared",
      columns: ["layer", "head", ...scores.map((score) => score.name)],
      rows: () =>
        run.state
          .get("brushed")
          .map((head) => [
            run.layerOf(head),
            run.numberInLayer(head),
            ...scores.map((score) => score.values[head]),
          ]),
    });
  }

  Haarbor.comparison = (run, side) => {
    const { state, data } = run;
    const title = el("h3", { tabIndex: -1 });
    const sentence = el("p", {});
    const sorting = Haarbor.createState({ by: null });
    addTable(run);
    const clear = Haarbor.button("Clear", () => run.brush([]), { "data-act": "clear" });
    const nearest = Haarbor.button("", () => {
      const chosen = state.get("chosen");
      run.brush([chosen, data.geometry.nearest[chosen][0]]);
    });
    const empty = el("div", { class: "empty" }, el("p", { class: "note" }, HINT), nearest);
    const body = el("div", {}, besideEachOther(run, sorting, clear), scoreTable(run, sorting));
    const card = el("div", { class: "card comparison", id: run.id("comparison") });
    const save = Haarbor.saveButtons(card, run.id("comparison"));
    save.append(Haarbor.tableButton(run, "comparison"));
    const heading = el("div", { class: "heading" }, title, save);
    side.append(Haarbor.put(card, heading, sentence, empty, body));
    state.on(["chosen"], ({ chosen }) => {
      const [other] = data.geometry.nearest[chosen];
      nearest.hidden = other === undefined;
      nearest.textContent = `Compare head ${run.names[chosen]} with its nearest, ${run.names[other]}`;
    });
    state.on(["brushed"], async ({ brushed }) => {
      const hasHeads = brushed.length > 1;
      empty.hidden = hasHeads;
      body.hidden = !hasHeads;
      sentence.hidden = !hasHeads;
      save.hidden = !hasHeads;
      title.textContent = hasHeads ? `Comparing ${brushed.length} heads` : "No heads to compare yet";
      if (hasHeads) {
        const distances = await Haarbor.headDistances(run);
        sentence.textContent = distanceWords(run, state.get("brushed"), distances);
      }
    });
  };
})();
