// A run as _run_payload.py gives it, with its names, its scores, and what happens when a head is pressed.
(() => {
  function byNumber(a, b) {
    return a - b;
  }

  function initialState(data, hasOther) {
    // Beside another run, a score by which the two can be compared comes first.
    const first = (hasOther && data.scores.find(({ compares }) => compares)) || data.scores[0];
    // The first level with more than two folders has lines worth drawing.
    const level = data.shown[0].folders.query.findIndex((sizes) => sizes.length > 2);
    return {
      score: first.name,
      scaleBy: hasOther ? "common" : "values",
      order: "grid",
      palette: "viridis",
      hovered: null,
      chosen: Math.max(0, first.values.indexOf(Math.max(...first.values))),
      brushed: [],
      place: 0,
      query: null,
      pointed: null,
      direction: "to",
      firstToken: "shown",
      bright: "usual",
      folderLevel: Math.max(1, level),
    };
  }

  /** Names ("layer.head"), places in the tree order and scores of the heads of a run. */
  function headFacts(data) {
    const perLayer = data.heads_per_layer;
    const nHeads = data.layers * perLayer;
    const layerOf = (head) => Math.floor(head / perLayer);
    const numberInLayer = (head) => head % perLayer;
    const names = Array.from({ length: nHeads }, (_, head) => `${layerOf(head)}.${numberInLayer(head)}`);
    const scores = new Map(data.scores.map((score) => [score.name, score]));
    return {
      nHeads,
      names,
      position: Haarbor.inverse(data.geometry.order),
      layerOf,
      numberInLayer,
      headWords: (head) => `layer ${layerOf(head)}, head ${numberInLayer(head)}`,
      scoreNamed: (name) => scores.get(name),
      hasScore: (name) => scores.has(name),
    };
  }

  /** Whether the heads of two runs may stand on one scale by a score. */
  function areComparable(run, other, score) {
    return score.compares && other.hasScore(score.name) && other.data.content === run.data.content;
  }

  /** The scale of the chosen score: by what, its two ends, and whether both runs stand on it. */
  function scaleOf(run) {
    const score = run.score();
    const by = run.state.get("scaleBy");
    const others = Haarbor.runs.filter((other) => other !== run && areComparable(run, other, score));
    const isCommon = by === "common" && others.length > 0;
    const onScale = isCommon ? [run, ...others] : [run];
    const values = onScale.flatMap((each) => each.scoreNamed(score.name).values);
    return { by, isCommon, ends: Haarbor.endsOfKnown(values) };
  }

  /** Shares of the heads on the scale of the chosen score, worked out once for all views. */
  function rememberedShares(run) {
    let key = "";
    let shares = [];
    return () => {
      const { by, isCommon, ends } = run.scale();
      const now = `${run.state.get("score")}/${by}/${isCommon}`;
      if (now !== key) {
        key = now;
        shares = Haarbor.shares(run.score().values, by, ends);
      }
      return shares;
    };
  }

  /** What pressing and brushing heads changes. */
  function headActions(run) {
    const { state } = run;
    return {
      choose: (head) => state.set({ chosen: head }),
      brush: (heads) => state.set({ brushed: [...new Set(heads)].sort(byNumber) }),
      toggle(head) {
        const brushed = state.get("brushed");
        const others = brushed.filter((other) => other !== head);
        state.set({ brushed: others.length < brushed.length ? others : [...brushed, head].sort(byNumber) });
      },
      /** Shows a head pointed at in all views, with its card beside the pointer. */
      point(head, event) {
        state.set({ hovered: head });
        Haarbor.tooltip.head(run, head, event);
      },
      pointAway() {
        state.set({ hovered: null });
        Haarbor.tooltip.hide();
      },
    };
  }

  Haarbor.createRun = (data, index, all) => {
    const state = Haarbor.createState(initialState(data, all.length > 1));
    const run = { data, index, state, ...headFacts(data) };
    Object.assign(run, headActions(run), {
      blob: (name) => Haarbor.unpack(`run-${index}-${name}`),
      /** Name of an element of this run: with two runs in the page, those of the second end in -2. */
      id: (name) => (index === 0 ? name : `${name}-${index + 1}`),
      score: () => run.scoreNamed(state.get("score")),
      scale: () => scaleOf(run),
      shares: rememberedShares(run),
      /** The letter of the run in a page of two; empty in a page of one. */
      letter: all.length > 1 ? "AB"[index] : "",
      colourOf: (head) => Haarbor.colour(run.shares()[head], state.get("palette")),
    });

    // A token that was picked may not be there in another batch.
    state.on(["place"], ({ place, query }) => {
      if (query !== null && query >= data.shown[place].n_queries) {
        state.set({ query: null });
      }
    });

    /** What every view of heads does when one is pointed at or pressed. */
    run.reaction = (head) => ({
      pointerenter(event) {
        if (event.pointerType !== "touch") {
          run.point(head, event);
        }
      },
      pointerleave: run.pointAway,
      click(event) {
        const adds = event.shiftKey || event.ctrlKey || event.metaKey;
        (adds ? run.toggle : run.choose)(head);
      },
    });

    /** A small button with the name of a head. */
    run.chip = (head) =>
      Haarbor.el(
        "button",
        {
          type: "button",
          class: "chip",
          "data-head": head,
          "aria-label": `Head ${run.names[head]}: open it`,
          on: run.reaction(head),
        },
        run.names[head],
      );
    return run;
  };
})();
