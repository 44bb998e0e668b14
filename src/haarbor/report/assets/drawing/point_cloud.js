// Heads as points on a canvas, in the plane or in space, with no need of WebGL.
// Dragging draws around points in the plane and turns the cloud in space.
(() => {
  const { el } = Haarbor;
  const HEIGHT = 400;
  const REACH = 13;
  const N_NAMED = 12;
  const STEPS = { ArrowLeft: [-12, 0], ArrowRight: [12, 0], ArrowUp: [0, -12], ArrowDown: [0, 12] };
  const KEYS = "+ and \u2212 zoom, n and p go from head to head, Enter opens.";

  /** Middle and half the range of every coordinate. */
  function coordinateSpans(points) {
    return points[0].map((_, k) => {
      const values = points.map((point) => point[k]);
      const low = Math.min(...values);
      const high = Math.max(...values);
      return [(low + high) / 2, (high - low) / 2 || 1];
    });
  }

  /** Points in the cube from -1 to 1; coordinates that they lack are 0. */
  function inUnitCube(points, spans) {
    return points.map((point) =>
      [0, 1, 2].map((k) => (k < spans.length ? (point[k] - spans[k][0]) / spans[k][1] : 0)),
    );
  }

  function isInside(polygon, [x, y]) {
    let isOdd = false;
    polygon.forEach(([toX, toY], i) => {
      const [fromX, fromY] = polygon.at(i - 1);
      const crosses = toY > y !== fromY > y && x < ((fromX - toX) * (y - toY)) / (fromY - toY) + toX;
      isOdd = crosses ? !isOdd : isOdd;
    });
    return isOdd;
  }

  function disc(context, x, y, radius) {
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
  }

  function drawLasso(context, theme, corners) {
    context.strokeStyle = theme.mark;
    context.lineWidth = 1.5;
    context.beginPath();
    corners.forEach(([x, y]) => context.lineTo(x, y));
    context.closePath();
    context.stroke();
  }

  /** Colour and width of the ring around a head that is marked in some way; null for others. */
  function ringOf(head, { hovered, chosen, brushed }, theme) {
    if (head === hovered) {
      return [theme.ink, 2.2];
    }
    if (head === chosen) {
      return [theme.mark, 3];
    }
    return brushed.has(head) ? [theme.second, 2] : null;
  }

  Haarbor.pointCloud = (run, host) => {
    const { state } = run;
    const { coordinates, order } = run.data.geometry;
    const spans = coordinateSpans(coordinates);
    const points = inUnitCube(coordinates, spans);
    const size = Haarbor.between(80 / Math.sqrt(run.nHeads), 4, 7);
    const projection = Haarbor.pointProjection(HEIGHT);
    const canvas = el("canvas", { tabIndex: 0, role: "img" });
    const help = el("p", { class: "note keys" });
    host.append(canvas, help);
    let places = [];
    let drag = null;
    let lasso = null;
    let keyed = null;

    function drawHead(context, theme, head, marks) {
      const [x, y, , nearness] = places[head];
      const radius = size * nearness;
      disc(context, x, y, radius);
      context.fillStyle = run.colourOf(head);
      context.fill();
      context.lineWidth = 0.8;
      context.strokeStyle = theme.card;
      context.stroke();
      const ring = ringOf(head, marks, theme);
      if (ring) {
        [context.strokeStyle, context.lineWidth] = ring;
        disc(context, x, y, radius + 3);
        context.stroke();
      }
    }

    function drawName(context, theme, head) {
      const [x, y] = places[head];
      context.lineWidth = 3;
      context.strokeStyle = theme.card;
      context.fillStyle = theme.ink;
      context.strokeText(run.names[head], x + size + 4, y - size);
      context.fillText(run.names[head], x + size + 4, y - size);
    }

    const drawing = Haarbor.drawing({
      canvas,
      host,
      sizeIn: (width) => [width, HEIGHT],
      draw(context, theme, width, height) {
        const project = projection.onto(width);
        Haarbor.drawPointAxes(context, theme, { projection, project, spans, points, width, height });
        places = points.map(project);
        const hovered = state.get("hovered");
        const chosen = state.get("chosen");
        const brushed = new Set(state.get("brushed"));
        const last = [chosen, hovered].filter((head) => head !== null);
        const farFirst = [...places.keys()].sort((a, b) => places[b][2] - places[a][2]);
        for (const head of [...farFirst.filter((other) => !last.includes(other)), ...last]) {
          drawHead(context, theme, head, { hovered, chosen, brushed });
        }
        context.textAlign = "left";
        context.font = "600 11px system-ui, sans-serif";
        const named = new Set([...last, ...(brushed.size <= N_NAMED ? brushed : [])]);
        named.forEach((head) => drawName(context, theme, head));
        if (lasso) {
          drawLasso(context, theme, lasso);
        }
      },
    });

    /** The head under a place of the canvas, or so near that it is meant; null if there is none. */
    function headNear(x, y) {
      let best = null;
      let least = REACH ** 2;
      places.forEach(([headX, headY], head) => {
        const squared = (headX - x) ** 2 + (headY - y) ** 2;
        if (squared < least) {
          least = squared;
          best = head;
        }
      });
      return best;
    }

    function pull(right, down) {
      projection.pull(right, down, host.clientWidth);
      drawing.later();
    }
    function zoomBy(factor) {
      projection.zoomBy(factor);
      drawing.later();
    }
    function reset() {
      projection.reset();
      drawing.later();
    }
    function stopDragging() {
      drag = null;
      lasso = null;
      drawing.later();
    }

    function pointAt(x, y, event) {
      const head = headNear(x, y);
      canvas.style.cursor = head === null ? "crosshair" : "pointer";
      if (head === null) {
        run.pointAway();
      } else {
        run.point(head, event);
      }
    }

    canvas.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" && !projection.isSpace) {
        return;
      }
      const [x, y] = Haarbor.placeOn(canvas, event);
      // In the plane dragging draws and Shift moves; in space it is the other way round.
      const draws = projection.isSpace ? event.shiftKey : !event.shiftKey;
      drag = { x, y, moved: false, draws };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = Haarbor.placeOn(canvas, event);
      if (!drag) {
        pointAt(x, y, event);
        return;
      }
      drag.moved = drag.moved || Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4;
      if (!drag.moved) {
        return;
      }
      if (drag.draws) {
        lasso = lasso || [[drag.x, drag.y]];
        lasso.push([x, y]);
        drawing.later();
      } else {
        pull(event.movementX, event.movementY);
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      const head = drag && !drag.moved ? headNear(...Haarbor.placeOn(canvas, event)) : null;
      if (head !== null) {
        (event.shiftKey || event.ctrlKey ? run.toggle : run.choose)(head);
      }
      if (lasso) {
        run.brush([...places.keys()].filter((other) => isInside(lasso, places[other])));
      }
      stopDragging();
    });
    canvas.addEventListener("pointercancel", stopDragging);
    canvas.addEventListener("pointerleave", () => {
      if (!drag) {
        run.pointAway();
      }
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (event.ctrlKey) {
          event.preventDefault();
          zoomBy(event.deltaY < 0 ? 1.2 : 1 / 1.2);
        }
      },
      { passive: false },
    );

    /** Goes to the next or the previous head in tree order, for those without a pointer. */
    function step(by) {
      const now = run.position[keyed ?? state.get("chosen")];
      keyed = order[(now + by + order.length) % order.length];
      state.set({ hovered: keyed });
    }
    canvas.addEventListener("keydown", (event) => {
      if (STEPS[event.key]) {
        const [right, down] = STEPS[event.key];
        // In the plane the arrows move the eye, so the points go the other way.
        const factor = projection.isSpace ? 1 : -4;
        pull(factor * right, factor * down);
      } else if (event.key === "+" || event.key === "=") {
        zoomBy(1.2);
      } else if (event.key === "-") {
        zoomBy(1 / 1.2);
      } else if (event.key === "0") {
        reset();
      } else if (event.key === "n") {
        step(1);
      } else if (event.key === "p") {
        step(-1);
      } else if (event.key === "Enter" && keyed !== null) {
        run.choose(keyed);
      } else {
        return;
      }
      event.preventDefault();
    });
    canvas.addEventListener("blur", () => {
      if (keyed !== null) {
        keyed = null;
        state.set({ hovered: null });
      }
    });

    function setSpace(isSpace) {
      projection.isSpace = isSpace;
      const number = isSpace ? "three" : "two";
      const label = `Diffusion map of the heads in ${number} dimensions`;
      canvas.setAttribute("aria-label", `${label}; n and p go from head to head, Enter opens one`);
      canvas.dataset.dimensions = isSpace ? "3" : "2";
      help.textContent = isSpace
        ? `Drag to turn, Shift-drag to draw around heads. Keys: arrows turn, ${KEYS}`
        : `Drag around heads to compare them, Shift-drag to move. Keys: arrows move, ${KEYS}`;
      reset();
    }
    setSpace(false);
    state.on(["hovered", "chosen", "brushed", "score", "palette", "scaleBy"], drawing.later);
    return { zoomBy, reset, setSpace };
  };
})();
