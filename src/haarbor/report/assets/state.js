// What is chosen in a run, and who wants to know: this is what links the views.
(() => {
  Haarbor.createState = (initial) => {
    const values = { ...initial };
    const listeners = [];
    const same = (a, b) => a === b || (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((v, i) => v === b[i]));
    return {
      get: (key) => values[key],
      set(changes) {
        const changed = Object.keys(changes).filter((key) => !same(values[key], changes[key]));
        if (!changed.length) return;
        for (const key of changed) values[key] = changes[key];
        for (const { keys, act } of listeners) if (changed.some((key) => keys.includes(key))) act(values, changed);
      },
      // Calls `act` at once and whenever one of `keys` changes.
      on(keys, act) {
        listeners.push({ keys, act });
        act(values, keys);
      },
    };
  };

  Haarbor.createRun = (data, index) => {
    const nHeads = data.layers * data.heads_per_layer;
    const names = Array.from({ length: nHeads }, (_, h) => `${Math.floor(h / data.heads_per_layer)}.${h % data.heads_per_layer}`);
    const scores = new Map(data.scores.map((score) => [score.name, score]));
    const position = new Array(nHeads);
    data.geometry.order.forEach((head, place) => { position[head] = place; });
    const highest = data.scores[0].values.indexOf(Math.max(...data.scores[0].values));
    const state = Haarbor.createState({
      score: data.scores[0].name, hovered: null, chosen: Math.max(0, highest), brushed: [], place: 0,
      query: null, palette: "viridis", scaleBy: "values", bright: "usual", folderLevel: Math.max(1, data.shown[0].folders.query.findIndex((sizes) => sizes.length > 2)),
    });
    const run = {
      data, index, nHeads, names, position, state,
      score: () => scores.get(state.get("score")),
      scoreNamed: (name) => scores.get(name),
      hasScore: (name) => scores.has(name),
      blob: (name) => Haarbor.unpack(`run-${index}-${name}`),
      id: (name) => (index === 0 ? name : `${name}-${index + 1}`),
      shown: () => data.shown[state.get("place")],
      layerOf: (head) => Math.floor(head / data.heads_per_layer),
      headWords: (head) => `layer ${Math.floor(head / data.heads_per_layer)}, head ${head % data.heads_per_layer}`,
      toggle(head) {
        const brushed = state.get("brushed");
        state.set({ brushed: brushed.includes(head) ? brushed.filter((h) => h !== head) : [...brushed, head].sort((a, b) => a - b) });
      },
      brush: (heads) => state.set({ brushed: [...new Set(heads)].sort((a, b) => a - b) }),
    };
    // Colours of the heads by the chosen score, worked out once for all views.
    let key = "", shares = [];
    run.shares = () => {
      const now = `${state.get("score")}/${state.get("scaleBy")}`;
      if (now !== key) { key = now; shares = Haarbor.shares(run.score().values, state.get("scaleBy")); }
      return shares;
    };
    run.colourOf = (head) => Haarbor.colour(run.shares()[head], state.get("palette"));
    // What every view of heads does when one is pointed at or pressed.
    run.reaction = (head) => ({
      pointerenter: (event) => { if (event.pointerType !== "touch") { state.set({ hovered: head }); Haarbor.tooltip.head(run, head, event); } },
      pointerleave: () => { state.set({ hovered: null }); Haarbor.tooltip.hide(); },
      click: (event) => (event.shiftKey || event.ctrlKey || event.metaKey ? run.toggle(head) : run.choose(head)),
    });
    run.choose = (head) => state.set({ chosen: head });
    run.chip = (head) => Haarbor.el("button", {
      type: "button", class: "chip", "data-head": head, "aria-label": `Head ${names[head]}: open it`, on: run.reaction(head),
    }, names[head]);
    return run;
  };
})();
