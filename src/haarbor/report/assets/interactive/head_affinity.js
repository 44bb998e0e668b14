// How alike every two heads are, in the order of the tree, on a canvas.
(() => {
  const { el, between } = Haarbor;
  const MOST_WIDTH = 460;
  const STRIP = 10;
  const GAP = 3;
  const ZERO = STRIP + GAP;
  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const NOTE =
    "Bright: the two heads attend alike. " + "The strips show the layer, from first (dark) to last (light).";

  /** The affinities as pixels in the order of the tree. */
  function painted(affinity, order, palette) {
    const n = order.length;
    // A head is fully like itself: the scale ends at the most alike pair of different heads.
    const least = affinity.reduce((found, value) => Math.min(found, value), Infinity);
    const most = affinity.reduce(
      (found, value, i) => (i % (n + 1) === 0 ? found : Math.max(found, value)),
      -Infinity,
    );
    const span = most - least || 1;
    return Haarbor.paint(el("canvas", { width: n, height: n }), Haarbor.palette(palette), (i) => {
      const value = affinity[order[Math.floor(i / n)] * n + order[i % n]];
      return between(Math.round((255 * (value - least)) / span), 0, 255);
    });
  }

  Haarbor.affinity = (run, side) => {
    const { state, data, nHeads } = run;
    const { order } = data.geometry;
    const canvas = el("canvas", {
      tabIndex: 0,
      role: "img",
      "aria-label":
        "Affinity of every two heads, in tree order; arrow keys move, Enter opens the head of the row",
    });
    const spoken = el("p", { class: "note spoken", "aria-live": "polite" });
    const host = el("div", { class: "square" }, canvas);
    let affinity = null;
    let picture = null;
    let cursor = null;
    let edge = 0;

    /** Strips at the sides in the colours of the layers. */
    function drawLayers(context, cell) {
      order.forEach((head, place) => {
        const share = data.layers > 1 ? run.layerOf(head) / (data.layers - 1) : 0.5;
        context.fillStyle = Haarbor.colour(share, "cividis");
        context.fillRect(0, ZERO + place * cell, STRIP, cell + 0.5);
        context.fillRect(ZERO + place * cell, 0, cell + 0.5, STRIP);
      });
    }

    /** Frames around the row and the column of a head. */
    function drawFrames(context, cell, head, colour) {
      const place = ZERO + run.position[head] * cell;
      const thick = Math.max(2, cell) + 1;
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.strokeRect(ZERO, place - 0.5, edge, thick);
      context.strokeRect(place - 0.5, ZERO, thick, edge);
    }

    /** Marks between the strips and the affinities. */
    function drawBrushed(context, cell, head) {
      const place = ZERO + run.position[head] * cell;
      const long = Math.max(1, cell);
      context.fillRect(STRIP, place, GAP, long);
      context.fillRect(place, STRIP, long, GAP);
    }

    const drawing = Haarbor.drawing({
      canvas,
      host,
      sizeIn(width) {
        const size = Math.min(width, MOST_WIDTH);
        return [size, size];
      },
      draw(context, theme, width) {
        edge = width - ZERO;
        if (!picture) {
          return;
        }
        const cell = edge / nHeads;
        context.imageSmoothingEnabled = cell < 1;
        context.drawImage(picture, ZERO, ZERO, edge, edge);
        drawLayers(context, cell);
        context.fillStyle = theme.second;
        state.get("brushed").forEach((head) => drawBrushed(context, cell, head));
        drawFrames(context, cell, state.get("chosen"), theme.mark);
        if (state.get("hovered") !== null) {
          drawFrames(context, cell, state.get("hovered"), "#fff");
        }
        if (cursor) {
          const [row, column] = cursor;
          context.strokeStyle = theme.mark;
          context.lineWidth = 2;
          context.strokeRect(ZERO + column * cell - 1, ZERO + row * cell - 1, cell + 2, cell + 2);
        }
      },
    });

    function paint() {
      if (affinity) {
        picture = painted(affinity, order, state.get("palette"));
        drawing.now();
      }
    }

    /** Row and column under a pointer; null beside the affinities. */
    function entryAt(event) {
      if (!affinity) {
        return null;
      }
      const [x, y] = Haarbor.placeOn(canvas, event);
      const cell = edge / nHeads;
      const row = Math.floor((y - ZERO) / cell);
      const column = Math.floor((x - ZERO) / cell);
      const isInside = row >= 0 && row < nHeads && column >= 0 && column < nHeads;
      return isInside ? [row, column] : null;
    }

    function words([row, column]) {
      const [one, two] = [order[row], order[column]];
      const value = Haarbor.number(affinity[one * nHeads + two]);
      return `${run.names[one]} and ${run.names[two]}: affinity ${value}`;
    }

    canvas.addEventListener("pointermove", (event) => {
      const entry = entryAt(event);
      if (entry) {
        state.set({ hovered: order[entry[0]] });
        Haarbor.tooltip.text(event, words(entry));
      } else {
        run.pointAway();
      }
    });
    canvas.addEventListener("pointerleave", run.pointAway);
    canvas.addEventListener("click", (event) => {
      const entry = entryAt(event);
      if (!entry) {
        return;
      }
      const [one, two] = entry.map((place) => order[place]);
      if (event.shiftKey) {
        run.brush([...state.get("brushed"), one, two]);
      } else {
        run.choose(one);
      }
    });
    canvas.addEventListener("keydown", (event) => {
      if (!affinity) {
        return;
      }
      const start = run.position[state.get("chosen")];
      const step = STEPS[event.key];
      cursor = cursor || [start, start];
      if (step) {
        cursor = cursor.map((place, k) => between(place + step[k], 0, nHeads - 1));
      } else if (event.key === "Enter") {
        run.choose(order[cursor[0]]);
      } else {
        return;
      }
      event.preventDefault();
      spoken.textContent = words(cursor);
      drawing.now();
    });
    canvas.addEventListener("blur", () => {
      cursor = null;
      spoken.textContent = "";
      drawing.now();
    });
    state.on(["hovered", "chosen", "brushed"], drawing.later);
    state.on(["palette"], paint);
    Haarbor.headAffinity(run).then((found) => {
      affinity = found;
      paint();
    });
    const controls = Haarbor.controls(Haarbor.tableButton(run, "head-distances"));
    side.append(Haarbor.figure(run.id("affinity"), "Affinity in tree order", NOTE, controls, host, spoken));
  };
})();
