// The heads of a layer as lines from every token to those it looks at.
(() => {
  const { el, between } = Haarbor;
  const ROW = 16;
  const TOP = 22;
  // Weights below this would be lines too faint to be seen.
  const LEAST_WEIGHT = 0.04;
  const COLOURS = [
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#b8860b",
    "#56b4e9",
    "#7a5195",
    "#8c564b",
    "#6b8e23",
    "#e64980",
  ];
  const NOTE =
    "Left: the token that looks; right: what it looks at. The stronger the line, the larger the weight; " +
    `weights below ${LEAST_WEIGHT} are not drawn. Point at a token, left or right, to see its lines alone.`;
  const KEYS =
    "Keys: up and down go from token to token, left and right change the side, Escape shows all lines.";

  function colourOf(number) {
    return COLOURS[number % COLOURS.length];
  }

  /** Where the two columns of tokens and the lines between them lie on a canvas. */
  function placesIn(width) {
    const column = between(0.27 * width, 70, 170);
    return { column, left: column + 6, right: width - column - 6, letters: Math.floor(column / 6.6) };
  }

  function rowMiddle(token) {
    return TOP + (token + 0.5) * ROW;
  }

  /** The tokens of one side; `shades` are [token, colour, weight] behind them. */
  function drawTokens(context, theme, { labels, x, align, focus, letters, width, shades }) {
    const from = align === "right" ? x - width : x;
    shades.forEach(([token, colour, weight, lane, nLanes]) => {
      context.globalAlpha = Math.sqrt(weight);
      context.fillStyle = colour;
      context.fillRect(from + (lane * width) / nLanes, TOP + token * ROW, width / nLanes, ROW - 1);
    });
    context.globalAlpha = 1;
    context.textAlign = align;
    context.textBaseline = "middle";
    labels.forEach((label, token) => {
      context.font = `${token === focus ? "700 " : ""}12px system-ui, sans-serif`;
      context.fillStyle = token === focus ? theme.mark : theme.ink;
      const text = Haarbor.tokenText(label, letters);
      context.fillText(text, align === "right" ? x - 4 : x + 4, rowMiddle(token));
    });
  }

  /** Whether lines between tokens can be drawn: weights of a text, each by itself. */
  Haarbor.hasTokenLines = ({ data: { labels, content, shown } }) =>
    labels === "tokens" && content === "probabilities" && shown[0].block === 1;

  Haarbor.tokenLines = (run, host) => {
    const { state, data } = run;
    const perLayer = data.heads_per_layer;
    const canvas = el("canvas", {
      tabIndex: 0,
      role: "img",
      "aria-label": "Lines from every token to those it looks at; arrow keys go from token to token",
    });
    const box = el("div", { class: "lines" }, canvas);
    const spoken = el("p", { class: "note", "aria-live": "polite" });
    const hidden = el("p", { class: "first-token" });
    const off = new Set();
    let matrices = [];
    let isAwake = false;
    let request = 0;
    // The token whose lines alone are drawn: { side, token }.
    let focus = null;

    const shown = () => data.shown[state.get("place")];
    const layer = () => run.layerOf(state.get("chosen"));
    const keys = () => shown().key_labels || shown().query_labels;
    const heads = () => Array.from({ length: perLayer }, (_, number) => number).filter((n) => !off.has(n));

    function focused() {
      const picked = state.get("pointed") ?? state.get("query");
      return focus || (picked === null ? null : { side: "query", token: picked });
    }

    /** Calls `act(query, key, weight)` for the lines of a head that are to be drawn. */
    function eachLine({ rows, columns, values }, act) {
      const only = focused();
      for (let query = 0; query < rows; query++) {
        if (only && only.side === "query" && only.token !== query) {
          continue;
        }
        for (let key = 0; key < columns; key++) {
          const weight = values[query * columns + key];
          const isWanted = !only || only.side === "query" || only.token === key;
          if (isWanted && weight >= LEAST_WEIGHT) {
            act(query, key, weight);
          }
        }
      }
    }

    function drawLines(context, { left, right }, shades) {
      const active = heads();
      const only = focused();
      context.lineWidth = only ? 1.8 : 1.2;
      active.forEach((number, lane) => {
        context.strokeStyle = colourOf(number);
        eachLine(matrices[number], (query, key, weight) => {
          context.globalAlpha = Math.min(1, only ? Math.sqrt(weight) : weight);
          Haarbor.line(context, left, rowMiddle(query), right, rowMiddle(key));
          if (only) {
            const token = only.side === "query" ? key : query;
            shades.push([token, colourOf(number), weight, lane, active.length]);
          }
        });
      });
      context.globalAlpha = 1;
    }

    const drawing = Haarbor.drawing({
      canvas,
      host: box,
      sizeIn: (width) => [width, TOP + ROW * Math.max(shown().n_queries, shown().n_keys) + 4],
      draw(context, theme, width) {
        const place = placesIn(width);
        const only = focused();
        const shades = [];
        context.font = "600 11px system-ui, sans-serif";
        context.fillStyle = theme.pale;
        context.textBaseline = "middle";
        context.textAlign = "right";
        context.fillText("looks", place.column - 4, TOP / 2);
        context.textAlign = "left";
        context.fillText("is looked at", width - place.column + 4, TOP / 2);
        if (matrices.length) {
          drawLines(context, place, shades);
        }
        const common = { letters: place.letters, width: place.column };
        const isQuery = only && only.side === "query";
        drawTokens(context, theme, {
          ...common,
          labels: shown().query_labels,
          x: place.column,
          align: "right",
          focus: isQuery ? only.token : null,
          shades: isQuery ? [] : shades,
        });
        drawTokens(context, theme, {
          ...common,
          labels: keys(),
          x: width - place.column,
          align: "left",
          focus: only && !isQuery ? only.token : null,
          shades: isQuery ? shades : [],
        });
      },
    });

    async function load() {
      hidden.textContent = Haarbor.firstTokenWords(run);
      hidden.hidden = hidden.textContent === "";
      if (!isAwake) {
        return;
      }
      request++;
      const turn = request;
      const place = state.get("place");
      const first = layer() * perLayer;
      const found = await Promise.all(
        Array.from({ length: perLayer }, (_, number) => Haarbor.shownMatrix(run, place, first + number)),
      );
      if (turn === request) {
        matrices = found;
        drawing.now();
      }
    }

    /** Side and token under a pointer; null above the first and below the last. */
    function tokenAt(event) {
      const [x, y] = Haarbor.placeOn(canvas, event);
      const side = x < canvas.clientWidth / 2 ? "query" : "key";
      const token = Math.floor((y - TOP) / ROW);
      const labels = side === "query" ? shown().query_labels : keys();
      return token >= 0 && token < labels.length ? { side, token } : null;
    }

    function words({ side, token }) {
      const label = (side === "query" ? shown().query_labels : keys())[token];
      const best = heads().flatMap((number) => {
        const found = [];
        const note = (query, key, weight) => found.push([side === "query" ? key : query, weight]);
        eachLine(matrices[number], note);
        found.sort((a, b) => b[1] - a[1]);
        return found.slice(0, 1).map(([other, weight]) => {
          const others = side === "query" ? keys() : shown().query_labels;
          const name = run.names[layer() * perLayer + number];
          return `${name}: ${Haarbor.tokenText(others[other])} (${Haarbor.number(weight, 2)})`;
        });
      });
      const verb = side === "query" ? "looks most at" : "is looked at most by";
      const found = best.join(", ") || `nothing above ${LEAST_WEIGHT}`;
      return `${Haarbor.tokenText(label)} ${verb} \u2013 ${found}`;
    }

    function setFocus(found) {
      focus = found;
      spoken.textContent = focus && matrices.length ? words(focus) : "\u00a0";
      drawing.later();
    }

    /** Brings the row of a token into the box. */
    function scrollTo(found) {
      if (found) {
        box.scrollTop = rowMiddle(found.token) - box.clientHeight / 2;
      }
    }

    canvas.addEventListener("pointermove", (event) => setFocus(tokenAt(event)));
    canvas.addEventListener("pointerleave", () => setFocus(null));
    canvas.addEventListener("click", (event) => {
      const found = tokenAt(event);
      if (found && found.side === "query") {
        state.set({ query: state.get("query") === found.token ? null : found.token });
      }
    });
    canvas.addEventListener("keydown", (event) => {
      const now = focus || { side: "query", token: -1 };
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const side = { ArrowLeft: "query", ArrowRight: "key" }[event.key];
      const labels = (side || now.side) === "query" ? shown().query_labels : keys();
      if (step) {
        setFocus({ ...now, token: between(now.token + step, 0, labels.length - 1) });
      } else if (side) {
        setFocus({ side, token: between(now.token, 0, labels.length - 1) });
      } else if (event.key === "Escape") {
        setFocus(null);
      } else {
        return;
      }
      event.preventDefault();
      scrollTo(focus);
    });
    canvas.addEventListener("blur", () => setFocus(null));

    function headButton(number) {
      const button = Haarbor.button(
        [el("i", { style: { background: colourOf(number) }, "aria-hidden": "true" }), el("span", {})],
        () => {
          if (!off.delete(number)) {
            off.add(number);
          }
          mark();
        },
        { class: "line-head" },
      );
      return button;
    }
    const headButtons = Array.from({ length: perLayer }, (_, number) => headButton(number));

    function mark() {
      headButtons.forEach((button, number) => {
        const name = run.names[layer() * perLayer + number];
        button.querySelector("span").textContent = name;
        button.setAttribute("aria-label", `Lines of head ${name}`);
        button.setAttribute("aria-pressed", String(!off.has(number)));
      });
      drawing.later();
    }
    function showOnly(isOff) {
      off.clear();
      headButtons.forEach((_, number) => (isOff(number) ? off.add(number) : null));
      mark();
    }

    const layers = Array.from({ length: data.layers }, (_, i) => [String(i), String(i)]);
    const goToLayer = (to) => run.choose(to * perLayer + run.numberInLayer(state.get("chosen")));
    const layerSelect = Haarbor.select("Layer", layers, String(layer()), (value) => goToLayer(Number(value)));
    const select = layerSelect.querySelector("select");
    const back = Haarbor.button("\u2190", () => goToLayer(layer() - 1), { "aria-label": "Previous layer" });
    const forth = Haarbor.button("\u2192", () => goToLayer(layer() + 1), { "aria-label": "Next layer" });
    const controls = Haarbor.controls(
      layerSelect,
      back,
      forth,
      Haarbor.button("All heads", () => showOnly(() => false)),
      Haarbor.button("Only the chosen head", () =>
        showOnly((number) => number !== run.numberInLayer(state.get("chosen"))),
      ),
      Haarbor.firstTokenSelect(run),
    );
    state.on(["chosen"], () => {
      select.value = String(layer());
      back.disabled = layer() === 0;
      forth.disabled = layer() === data.layers - 1;
      mark();
    });
    state.on(["chosen", "place", "firstToken"], load);
    state.on(["pointed", "query"], drawing.later);
    state.on(["query"], () => scrollTo(focus ? null : focused()));
    setFocus(null);
    Haarbor.whenNear(box, () => {
      isAwake = true;
      load();
      scrollTo(focused());
    });
    const figure = Haarbor.figure(
      run.id("token-lines"),
      "What the heads of a layer look at",
      NOTE,
      controls,
      el(
        "div",
        { class: "line-heads", role: "group", "aria-label": "Heads whose lines are drawn" },
        headButtons,
      ),
      hidden,
      box,
      spoken,
      el("p", { class: "note keys" }, KEYS),
    );
    host.append(figure);
  };
})();
