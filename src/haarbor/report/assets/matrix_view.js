// One matrix on a canvas with its tokens or patches on the axes; zoomed, panned and read cell by cell.
(() => {
  const { el } = Haarbor;
  Haarbor.matrixView = (label) => {
    const canvas = el("canvas", { tabIndex: 0, role: "img", "aria-label": `${label}; arrow keys move from entry to entry, plus and minus zoom` });
    const spoken = el("p", { class: "note spoken", "aria-live": "polite" });
    const tools = el("span", { class: "zoom" });
    const host = el("div", { class: "matrix" }, canvas, tools, spoken);
    let shown = null, picture = null, window_ = null, cursor = null, pointed = null, drag = null, frame = null;
    const view = { node: host, onPoint: null, onPick: null };

    const paint = () => {
      const { rows, columns, values, mask, largest, least, palette, root } = shown;
      picture = el("canvas", { width: columns, height: rows });
      const context = picture.getContext("2d"), image = context.createImageData(columns, rows), rgb = Haarbor.palette(palette);
      const span = largest - least || 1;
      for (let i = 0, at = 0; i < values.length; i++, at += 4) {
        if (mask && !mask[i]) { image.data[at + 3] = 0; continue; }
        const share = Math.max(0, Math.min(1, (values[i] - least) / span)), q = 3 * Math.round(255 * (root ? Math.sqrt(share) : share));
        image.data[at] = rgb[q]; image.data[at + 1] = rgb[q + 1]; image.data[at + 2] = rgb[q + 2]; image.data[at + 3] = 255;
      }
      context.putImageData(image, 0, 0);
    };
    const geometry = () => {
      const width = host.clientWidth, strips = shown.rowColours ? 9 : 0, margin = (width < 360 ? 44 : 62) + strips;
      const edge = width - margin - 2;
      const cellWide = edge / (window_.right - window_.left), cellTall = edge / (window_.bottom - window_.top);
      return { width, margin, edge, strips, cellWide, cellTall };
    };
    const draw = () => {
      frame = null;
      if (!shown || !host.clientWidth) return;
      const g = geometry(), theme = Haarbor.theme();
      const context = Haarbor.sized(canvas, g.width, g.width), { left, right, top, bottom } = window_;
      const X = (column) => g.margin + (column - left) * g.cellWide, Y = (row) => g.margin + (row - top) * g.cellTall;
      context.clearRect(0, 0, g.width, g.width);
      context.fillStyle = Haarbor.css("--closed");
      context.fillRect(g.margin, g.margin, g.edge, g.edge);
      context.save();
      context.beginPath();
      context.rect(g.margin, g.margin, g.edge, g.edge);
      context.clip();
      context.imageSmoothingEnabled = false;
      context.drawImage(picture, left, top, right - left, bottom - top, g.margin, g.margin, g.edge, g.edge);
      context.strokeStyle = "rgba(255,255,255,0.55)";
      context.lineWidth = 0.8;
      for (const border of shown.rowBorders || []) { context.beginPath(); context.moveTo(g.margin, Y(border)); context.lineTo(g.margin + g.edge, Y(border)); context.stroke(); }
      for (const border of shown.columnBorders || []) { context.beginPath(); context.moveTo(X(border), g.margin); context.lineTo(X(border), g.margin + g.edge); context.stroke(); }
      const spot = cursor || pointed;
      if (spot) {
        context.strokeStyle = theme.mark;
        context.lineWidth = 1;
        context.strokeRect(g.margin - 2, Y(spot[0]) - 0.5, g.edge + 4, Math.max(2, g.cellTall) + 1);
        context.strokeRect(X(spot[1]) - 0.5, g.margin - 2, Math.max(2, g.cellWide) + 1, g.edge + 4);
      }
      context.restore();
      if (g.strips) {
        for (let r = Math.floor(top); r < Math.ceil(bottom); r++) if (shown.rowColours[r]) { context.fillStyle = shown.rowColours[r]; context.fillRect(g.margin - 9, Math.max(g.margin, Y(r)), 7, Math.min(g.cellTall + 0.5, g.margin + g.edge - Y(r))); }
        for (let c = Math.floor(left); c < Math.ceil(right); c++) if (shown.columnColours[c]) { context.fillStyle = shown.columnColours[c]; context.fillRect(Math.max(g.margin, X(c)), g.margin - 9, Math.min(g.cellWide + 0.5, g.margin + g.edge - X(c)), 7); }
      }
      labels(context, g, theme, X, Y, spot);
    };
    const labels = (context, g, theme, X, Y, spot) => {
      const size = g.width < 360 ? 9 : 10;
      context.font = `${size}px system-ui, sans-serif`;
      context.textBaseline = "middle";
      const room = g.margin - g.strips - 6, most = Math.floor(room / (size * 0.56));
      const side = (from, to, cell, texts, place, write, marked) => {
        const step = Math.max(1, Math.ceil((size + 2) / cell));
        for (let i = Math.ceil(from); i < Math.floor(to + 0.001); i++) {
          const isMarked = i === marked;
          if (!isMarked && (i % step !== 0 || (marked !== null && Math.abs(place(i) - place(marked)) < size + 2))) continue;
          context.fillStyle = isMarked ? theme.mark : theme.pale;
          context.font = `${isMarked ? "600 " : ""}${size}px system-ui, sans-serif`;
          write(Haarbor.tokenText(texts[i], most), place(i) + cell / 2);
        }
      };
      context.textAlign = "right";
      side(window_.top, window_.bottom, g.cellTall, shown.rowLabels, Y, (text, y) => context.fillText(text, g.margin - g.strips - 4, y), spot ? spot[0] : null);
      context.textAlign = "left";
      side(window_.left, window_.right, g.cellWide, shown.columnLabels, X, (text, x) => {
        context.save(); context.translate(x, g.margin - g.strips - 4); context.rotate(-Math.PI / 2); context.fillText(text, 0, 0); context.restore();
      }, spot ? spot[1] : null);
    };
    const later = () => { frame = frame || requestAnimationFrame(draw); };
    const at = (event) => {
      if (!shown) return null;
      const box = canvas.getBoundingClientRect(), g = geometry();
      const column = Math.floor(window_.left + (event.clientX - box.left - g.margin) / g.cellWide), row = Math.floor(window_.top + (event.clientY - box.top - g.margin) / g.cellTall);
      return row >= 0 && column >= 0 && row < shown.rows && column < shown.columns && event.clientX - box.left >= g.margin && event.clientY - box.top >= g.margin ? [row, column] : null;
    };
    const clamp = () => {
      const fix = (low, high, size) => { const span = Math.min(size, high - low); const begin = Math.max(0, Math.min(size - span, low)); return [begin, begin + span]; };
      [window_.left, window_.right] = fix(window_.left, window_.right, shown.columns);
      [window_.top, window_.bottom] = fix(window_.top, window_.bottom, shown.rows);
    };
    const zoomAt = ([row, column], factor) => {
      const tall = Math.max(4, Math.min(shown.rows, (window_.bottom - window_.top) / factor)), wide = Math.max(4, Math.min(shown.columns, (window_.right - window_.left) / factor));
      window_ = { left: column + 0.5 - wide / 2, right: column + 0.5 + wide / 2, top: row + 0.5 - tall / 2, bottom: row + 0.5 + tall / 2 };
      clamp();
      later();
    };
    const middle = () => cursor || pointed || [(window_.top + window_.bottom) / 2, (window_.left + window_.right) / 2];
    const reset = () => { window_ = { left: 0, right: shown.columns, top: 0, bottom: shown.rows }; later(); };
    const value = ([row, column]) => shown.values[row * shown.columns + column];
    const words = (place) => {
      const open = !shown.mask || shown.mask[place[0] * shown.columns + place[1]];
      return `${Haarbor.tokenText(shown.rowLabels[place[0]])} \u2192 ${Haarbor.tokenText(shown.columnLabels[place[1]])}: ${open ? Haarbor.number(value(place)) : "masked"}`;
    };
    canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, window: { ...window_ }, moved: false }; });
    canvas.addEventListener("pointermove", (event) => {
      if (drag && event.buttons & 1 && window_.right - window_.left < shown.columns) {
        const g = geometry(), dx = (event.clientX - drag.x) / g.cellWide, dy = (event.clientY - drag.y) / g.cellTall;
        if (Math.abs(dx) + Math.abs(dy) > 0.5) drag.moved = true;
        window_ = { left: drag.window.left - dx, right: drag.window.right - dx, top: drag.window.top - dy, bottom: drag.window.bottom - dy };
        clamp();
        later();
        return;
      }
      const place = at(event);
      view.onPoint && view.onPoint(place);
      if (place) Haarbor.tooltip.text(event, words(place)); else Haarbor.tooltip.hide();
    });
    canvas.addEventListener("pointerleave", () => { drag = null; view.onPoint && view.onPoint(null); Haarbor.tooltip.hide(); });
    canvas.addEventListener("click", (event) => { const place = at(event); if (place && !(drag && drag.moved) && view.onPick) view.onPick(place); drag = null; });
    canvas.addEventListener("dblclick", (event) => { const place = at(event); if (place) zoomAt(place, event.shiftKey ? 0.5 : 2.5); });
    canvas.addEventListener("wheel", (event) => { if (!event.ctrlKey) return; const place = at(event); if (place) { event.preventDefault(); zoomAt(place, event.deltaY < 0 ? 1.25 : 0.8); } }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      if (!shown) return;
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (step) {
        cursor = cursor ? [Math.max(0, Math.min(shown.rows - 1, cursor[0] + step[0])), Math.max(0, Math.min(shown.columns - 1, cursor[1] + step[1]))] : [Math.floor(window_.top), Math.floor(window_.left)];
        if (cursor[0] < window_.top || cursor[0] >= window_.bottom || cursor[1] < window_.left || cursor[1] >= window_.right) zoomAt(cursor, 1);
        spoken.textContent = words(cursor);
        view.onPoint && view.onPoint(cursor);
      } else if (event.key === "+") zoomAt(middle(), 1.6);
      else if (event.key === "-") zoomAt(middle(), 1 / 1.6);
      else if (event.key === "0") reset();
      else if (event.key === "Enter" && cursor) view.onPick && view.onPick(cursor);
      else return;
      event.preventDefault();
      later();
    });
    canvas.addEventListener("blur", () => { cursor = null; spoken.textContent = ""; later(); });
    tools.append(Haarbor.button("+", () => zoomAt(middle(), 1.8), { "aria-label": "Zoom in" }), Haarbor.button("\u2212", () => zoomAt(middle(), 1 / 1.8), { "aria-label": "Zoom out" }), Haarbor.button("\u2922", reset, { "aria-label": "Show all" }));
    view.show = (description) => {
      const same = shown && shown.rows === description.rows && shown.columns === description.columns;
      shown = description;
      if (!same) { window_ = { left: 0, right: shown.columns, top: 0, bottom: shown.rows }; cursor = null; }
      paint();
      draw();
    };
    view.point = (place) => { pointed = place; later(); };
    Haarbor.onWidth(host, draw);
    Haarbor.onTheme(draw);
    return view;
  };
})();
