// Heads as points on a canvas, in the plane or in space, with no need of WebGL.
// Dragging draws around points in the plane and turns the cloud in space.
(() => {
  const { el } = Haarbor;
  const ticks = (low, high) => {
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough || 1)), step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) || rough;
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) found.push(Math.abs(v) < step * 1e-6 ? 0 : v);
    return found;
  };
  const inside = (polygon, x, y) => {
    let odd = false;
    for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
      const [xi, yi] = polygon[i], [xj, yj] = polygon[j];
      if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) odd = !odd;
    }
    return odd;
  };

  Haarbor.pointCloud = (run, host) => {
    const { state } = run, points = run.data.geometry.coordinates, dimensions = points[0].length, HEIGHT = 400;
    const canvas = el("canvas", { tabIndex: 0, role: "img" });
    const help = el("p", { class: "note keys" });
    host.append(canvas, help);
    let inSpace = false, turn = 0.7, tilt = 0.35, zoom = 1, shift = [0, 0], places = [], drag = null, lasso = null, frame = null, keyed = null;
    const spans = points[0].map((_, k) => { const v = points.map((p) => p[k]), low = Math.min(...v), high = Math.max(...v); return [(low + high) / 2, (high - low) / 2 || 1]; });
    const unit = points.map((p) => [0, 1, 2].map((k) => (k < dimensions ? (p[k] - spans[k][0]) / spans[k][1] : 0)));
    const MARGIN = { left: 44, right: 14, top: 14, bottom: 36 };

    const plane = (width) => {
      const wide = (width - MARGIN.left - MARGIN.right) / 2, tall = (HEIGHT - MARGIN.top - MARGIN.bottom) / 2;
      return ([x, y]) => [MARGIN.left + wide + (x - shift[0]) * wide * 0.92 * zoom, MARGIN.top + tall - (y - shift[1]) * tall * 0.92 * zoom, 0, 1];
    };
    const space = (width) => ([x, y, z]) => {
      const a = x * Math.cos(turn) - y * Math.sin(turn), b = x * Math.sin(turn) + y * Math.cos(turn);
      const up = z * Math.cos(tilt) - b * Math.sin(tilt), deep = z * Math.sin(tilt) + b * Math.cos(tilt);
      const nearness = 4.2 / (4.2 + deep), scale = 0.3 * Math.min(width, HEIGHT) * zoom * nearness;
      return [width / 2 + a * scale, HEIGHT / 2 - up * scale, deep, nearness];
    };
    const axes = (context, theme, width, project) => {
      context.font = "11px system-ui, sans-serif";
      context.strokeStyle = theme.line;
      context.fillStyle = theme.pale;
      context.lineWidth = 1;
      if (inSpace) {
        const corner = (i) => project([i & 1 ? 1.1 : -1.1, i & 2 ? 1.1 : -1.1, i & 4 ? 1.1 : -1.1]);
        for (let i = 0; i < 8; i++) for (const bit of [1, 2, 4]) if (!(i & bit)) {
          const [x0, y0] = corner(i), [x1, y1] = corner(i | bit);
          context.beginPath(); context.moveTo(x0, y0); context.lineTo(x1, y1); context.stroke();
        }
        [["1", [1.25, -1.1, -1.1]], ["2", [-1.1, 1.25, -1.1]], ["3", [-1.1, -1.1, 1.25]]].forEach(([text, at]) => { const [x, y] = project(at); context.fillText(text, x, y); });
        // Shadows on the floor say how deep a point stands.
        context.fillStyle = theme.line;
        for (const p of unit) { const [x, y, , near] = project([p[0], p[1], -1.1]); context.beginPath(); context.arc(x, y, 2 * near, 0, 7); context.fill(); }
        return;
      }
      const range = (k, size) => { const reach = 1 / (0.92 * zoom); return [spans[k][0] + (shift[k] - reach) * spans[k][1], spans[k][0] + (shift[k] + reach) * spans[k][1], size]; };
      const [xLow, xHigh] = range(0), bottom = HEIGHT - MARGIN.bottom;
      context.textAlign = "center";
      for (const v of ticks(xLow, xHigh)) {
        const [x] = project([(v - spans[0][0]) / spans[0][1], 0]);
        context.beginPath(); context.moveTo(x, MARGIN.top); context.lineTo(x, bottom); context.stroke();
        context.fillText(Haarbor.number(v), x, bottom + 14);
      }
      context.fillText("diffusion coordinate 1", MARGIN.left + (width - MARGIN.left - MARGIN.right) / 2, HEIGHT - 6);
      if (dimensions < 2) return;
      const [yLow, yHigh] = range(1);
      context.textAlign = "right";
      for (const v of ticks(yLow, yHigh)) {
        const [, y] = project([0, (v - spans[1][0]) / spans[1][1]]);
        context.beginPath(); context.moveTo(MARGIN.left, y); context.lineTo(width - MARGIN.right, y); context.stroke();
        context.fillText(Haarbor.number(v), MARGIN.left - 5, y + 4);
      }
      context.save();
      context.translate(10, MARGIN.top + (bottom - MARGIN.top) / 2);
      context.rotate(-Math.PI / 2);
      context.textAlign = "center";
      context.fillText("diffusion coordinate 2", 0, 0);
      context.restore();
    };
    const draw = () => {
      frame = null;
      const width = host.clientWidth;
      if (!width) return;
      const context = Haarbor.sized(canvas, width, HEIGHT), theme = Haarbor.theme(), project = inSpace ? space(width) : plane(width);
      context.clearRect(0, 0, width, HEIGHT);
      axes(context, theme, width, project);
      context.textAlign = "left";
      places = unit.map(project);
      const size = Math.max(4, Math.min(7, 80 / Math.sqrt(run.nHeads))), brushed = new Set(state.get("brushed")), hovered = state.get("hovered"), chosen = state.get("chosen");
      const dot = (head) => {
        const [x, y, , near] = places[head], r = size * near;
        context.fillStyle = run.colourOf(head);
        context.beginPath(); context.arc(x, y, r, 0, 7); context.fill();
        context.lineWidth = 0.8; context.strokeStyle = theme.card; context.stroke();
        const mark = head === hovered ? [theme.ink, 2.2] : head === chosen ? [theme.mark, 3] : brushed.has(head) ? [theme.second, 2] : null;
        if (mark) { context.lineWidth = mark[1]; context.strokeStyle = mark[0]; context.beginPath(); context.arc(x, y, r + 3, 0, 7); context.stroke(); }
      };
      const order = [...places.keys()].sort((a, b) => places[b][2] - places[a][2]);
      order.filter((h) => h !== hovered && h !== chosen).forEach(dot);
      [chosen, hovered].forEach((head) => { if (head !== null) dot(head); });
      context.font = "600 11px system-ui, sans-serif";
      const named = new Set([chosen, hovered, ...(brushed.size <= 12 ? brushed : [])]);
      for (const head of named) if (head !== null) {
        const [x, y] = places[head];
        context.lineWidth = 3; context.strokeStyle = theme.card; context.fillStyle = theme.ink;
        context.strokeText(run.names[head], x + size + 4, y - size);
        context.fillText(run.names[head], x + size + 4, y - size);
      }
      if (lasso) { context.strokeStyle = theme.mark; context.lineWidth = 1.5; context.beginPath(); lasso.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y))); context.closePath(); context.stroke(); }
    };
    const later = () => { frame = frame || requestAnimationFrame(draw); };
    const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    const near = (x, y) => {
      let best = null, least = 169;
      places.forEach(([px, py], head) => { const d = (px - x) ** 2 + (py - y) ** 2; if (d < least) { least = d; best = head; } });
      return best;
    };
    const move = (dx, dy) => {
      if (inSpace) { turn += dx * 0.01; tilt = Math.max(-1.5, Math.min(1.5, tilt + dy * 0.01)); }
      else { shift = [shift[0] - (dx / host.clientWidth) * (2.2 / zoom), shift[1] + (dy / HEIGHT) * (2.2 / zoom)]; }
      later();
    };
    const scale = (factor) => { zoom = Math.max(0.5, Math.min(40, zoom * factor)); if (zoom <= 1) shift = [0, 0]; later(); };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" && !inSpace) return;
      const [x, y] = at(event);
      // In the plane dragging draws and Shift moves; in space it is the other way round.
      drag = { x, y, moved: false, draws: inSpace ? event.shiftKey : !event.shiftKey };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = at(event);
      if (!drag) {
        const head = near(x, y);
        state.set({ hovered: head });
        canvas.style.cursor = head === null ? "crosshair" : "pointer";
        if (head === null) Haarbor.tooltip.hide(); else Haarbor.tooltip.head(run, head, event);
        return;
      }
      if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4) drag.moved = true;
      if (!drag.moved) return;
      if (drag.draws) { lasso = lasso || [[drag.x, drag.y]]; lasso.push([x, y]); later(); } else move(event.movementX, event.movementY);
    });
    const finish = (event) => {
      const [x, y] = at(event);
      if (drag && !drag.moved) { const head = near(x, y); if (head !== null) (event.shiftKey || event.ctrlKey ? run.toggle : run.choose)(head); }
      if (lasso) run.brush([...places.keys()].filter((h) => inside(lasso, places[h][0], places[h][1])));
      drag = null; lasso = null; later();
    };
    canvas.addEventListener("pointerup", finish);
    canvas.addEventListener("pointercancel", () => { drag = null; lasso = null; later(); });
    canvas.addEventListener("pointerleave", () => { if (!drag) { state.set({ hovered: null }); Haarbor.tooltip.hide(); } });
    canvas.addEventListener("wheel", (event) => { if (event.ctrlKey) { event.preventDefault(); scale(event.deltaY < 0 ? 1.2 : 1 / 1.2); } }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-12, 0], ArrowRight: [12, 0], ArrowUp: [0, -12], ArrowDown: [0, 12] }[event.key];
      if (step) move(...(inSpace ? step : step.map((v) => -4 * v)));
      else if (event.key === "+" || event.key === "=") scale(1.2);
      else if (event.key === "-") scale(1 / 1.2);
      else if (event.key === "0") view.reset();
      else if (event.key === "n" || event.key === "p") {
        // From head to head in tree order, for those without a pointer.
        const order = run.data.geometry.order, now = keyed ?? state.get("chosen");
        keyed = order[(run.position[now] + (event.key === "n" ? 1 : order.length - 1)) % order.length];
        state.set({ hovered: keyed });
      } else if (event.key === "Enter" && keyed !== null) run.choose(keyed);
      else return;
      event.preventDefault();
    });
    canvas.addEventListener("blur", () => { if (keyed !== null) { keyed = null; state.set({ hovered: null }); } });
    state.on(["hovered", "chosen", "brushed", "score", "palette", "scaleBy"], later);
    Haarbor.onWidth(host, draw);
    Haarbor.onTheme(later);
    const view = {
      zoomBy: scale,
      reset() { zoom = 1; shift = [0, 0]; turn = 0.7; tilt = 0.35; later(); },
      setSpace(value) {
        inSpace = value;
        canvas.setAttribute("aria-label", `Diffusion map of the heads in ${inSpace ? "three" : "two"} dimensions; n and p go from head to head, Enter opens one`);
        canvas.dataset.dimensions = inSpace ? "3" : "2";
        help.textContent = inSpace ? "Drag to turn, Shift-drag to draw around heads. Keys: arrows turn, + and \u2212 zoom, n and p go from head to head, Enter opens."
          : "Drag around heads to compare them, Shift-drag to move. Keys: arrows move, + and \u2212 zoom, n and p go from head to head, Enter opens.";
        view.reset();
      },
    };
    view.setSpace(false);
    return view;
  };
})();
