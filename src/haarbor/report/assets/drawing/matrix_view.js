// One matrix on a canvas with its tokens or patches on the axes; zoomed, moved and read entry by entry.
(() => {
  const { el, between, matrixAxes } = Haarbor;
  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

  /** The entries of a matrix as pixels; those that are masked stay clear. */
  function painted({ rows, columns, values, mask, largest, least, palette, root }) {
    const span = largest - least || 1;
    return Haarbor.paint(el("canvas", { width: columns, height: rows }), Haarbor.palette(palette), (i) => {
      if (mask && !mask[i]) {
        return null;
      }
      const share = between((values[i] - least) / span, 0, 1);
      return Math.round(255 * (root ? Math.sqrt(share) : share));
    });
  }

  /** Where the entries in a window lie on a square canvas: `x` of a column, `y` of a row, and back. */
  function placement(shown, view, width) {
    const stripRoom = shown.rowColours ? matrixAxes.STRIP_ROOM : 0;
    const margin = (width < 360 ? 44 : 62) + stripRoom;
    const edge = width - margin - 2;
    const cellWide = edge / view.wide();
    const cellTall = edge / view.tall();
    return {
      width,
      stripRoom,
      margin,
      edge,
      cellWide,
      cellTall,
      x: (column) => margin + (column - view.left) * cellWide,
      y: (row) => margin + (row - view.top) * cellTall,
      column: (x) => Math.floor(view.left + (x - margin) / cellWide),
      row: (y) => Math.floor(view.top + (y - margin) / cellTall),
    };
  }

  function drawBorders(context, shown, place) {
    const { margin, edge } = place;
    context.strokeStyle = "rgba(255,255,255,0.55)";
    context.lineWidth = 0.8;
    for (const row of shown.rowBorders || []) {
      Haarbor.line(context, margin, place.y(row), margin + edge, place.y(row));
    }
    for (const column of shown.columnBorders || []) {
      Haarbor.line(context, place.x(column), margin, place.x(column), margin + edge);
    }
  }

  function drawCross(context, theme, place, [row, column]) {
    const { margin, edge, cellWide, cellTall } = place;
    context.strokeStyle = theme.mark;
    context.lineWidth = 1;
    context.strokeRect(margin - 2, place.y(row) - 0.5, edge + 4, Math.max(2, cellTall) + 1);
    context.strokeRect(place.x(column) - 0.5, margin - 2, Math.max(2, cellWide) + 1, edge + 4);
  }

  /**
   * A view with `show(description)` and `point(entry)` that calls its `onPoint` and `onPick` with entries,
   * which are [row, column].
   *
   * A description holds rows, columns, values (row by row), mask, least, largest, palette, whether colours
   * follow the square `root`, the word for entries that are `closed` by the mask, and labels, colours and
   * folder borders of rows and columns.
   */
  Haarbor.matrixView = (label) => {
    const canvas = el("canvas", {
      tabIndex: 0,
      role: "img",
      "aria-label": `${label}; arrow keys move from entry to entry, plus and minus zoom`,
    });
    const spoken = el("p", { class: "note spoken", "aria-live": "polite" });
    const tools = el(
      "span",
      { class: "zoom" },
      Haarbor.button("+", () => zoom(middle(), 1.8), { "aria-label": "Zoom in" }),
      Haarbor.button("\u2212", () => zoom(middle(), 1 / 1.8), { "aria-label": "Zoom out" }),
      Haarbor.button("\u2922", showAll, { "aria-label": "Show all" }),
    );
    const host = el("div", { class: "matrix" }, canvas, tools, spoken);
    let shown = null;
    let picture = null;
    let view = Haarbor.matrixWindow(0, 0);
    let cursor = null;
    let pointed = null;
    let drag = null;

    const drawing = Haarbor.drawing({
      canvas,
      host,
      sizeIn: (width) => [width, width],
      draw(context, theme, width) {
        if (!shown) {
          return;
        }
        const place = placement(shown, view, width);
        const { margin, edge } = place;
        const marked = cursor || pointed;
        context.fillStyle = theme.closed;
        context.fillRect(margin, margin, edge, edge);
        context.save();
        context.beginPath();
        context.rect(margin, margin, edge, edge);
        context.clip();
        context.imageSmoothingEnabled = false;
        context.drawImage(picture, view.left, view.top, view.wide(), view.tall(), margin, margin, edge, edge);
        drawBorders(context, shown, place);
        if (marked) {
          drawCross(context, theme, place, marked);
        }
        context.restore();
        if (place.stripRoom) {
          matrixAxes.drawStrips(context, shown, view, place);
        }
        matrixAxes.drawLabels(context, theme, shown, view, place, marked);
      },
    });
    const matrix = {
      node: host,
      onPoint: () => {},
      onPick: () => {},
      point(entry) {
        pointed = entry;
        drawing.later();
      },
      show(description) {
        const isSameSize = shown && shown.rows === description.rows && shown.columns === description.columns;
        shown = description;
        if (!isSameSize) {
          view = Haarbor.matrixWindow(shown.rows, shown.columns);
          cursor = null;
        }
        picture = painted(shown);
        drawing.now();
      },
    };

    function zoom(entry, factor) {
      view.zoom(entry, factor);
      drawing.later();
    }
    function showAll() {
      view.showAll();
      drawing.later();
    }
    function middle() {
      return cursor || pointed || view.middle();
    }

    /** The entry under a pointer; null beside the matrix. */
    function entryAt(event) {
      if (!shown) {
        return null;
      }
      const [x, y] = Haarbor.placeOn(canvas, event);
      const place = placement(shown, view, host.clientWidth);
      const row = place.row(y);
      const column = place.column(x);
      const isInside = x >= place.margin && y >= place.margin && row < shown.rows && column < shown.columns;
      return isInside && row >= 0 && column >= 0 ? [row, column] : null;
    }

    function words([row, column]) {
      const i = row * shown.columns + column;
      const value = shown.mask && !shown.mask[i] ? shown.closed : Haarbor.number(shown.values[i]);
      const from = Haarbor.tokenText(shown.rowLabels[row]);
      return `${from} \u2192 ${Haarbor.tokenText(shown.columnLabels[column])}: ${value}`;
    }

    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, left: view.left, top: view.top, moved: false };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag && event.buttons & 1 && view.isZoomed()) {
        const { cellWide, cellTall } = placement(shown, view, host.clientWidth);
        const columns = (event.clientX - drag.x) / cellWide;
        const rows = (event.clientY - drag.y) / cellTall;
        drag.moved = drag.moved || Math.abs(columns) + Math.abs(rows) > 0.5;
        view.moveTo(drag.left - columns, drag.top - rows);
        drawing.later();
        return;
      }
      const entry = entryAt(event);
      matrix.onPoint(entry);
      if (entry) {
        Haarbor.tooltip.text(event, words(entry));
      } else {
        Haarbor.tooltip.hide();
      }
    });
    canvas.addEventListener("pointerleave", () => {
      drag = null;
      matrix.onPoint(null);
      Haarbor.tooltip.hide();
    });
    canvas.addEventListener("click", (event) => {
      const entry = entryAt(event);
      if (entry && !(drag && drag.moved)) {
        matrix.onPick(entry);
      }
      drag = null;
    });
    canvas.addEventListener("dblclick", (event) => {
      const entry = entryAt(event);
      if (entry) {
        zoom(entry, event.shiftKey ? 0.5 : 2.5);
      }
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        const entry = event.ctrlKey ? entryAt(event) : null;
        if (entry) {
          event.preventDefault();
          zoom(entry, event.deltaY < 0 ? 1.25 : 0.8);
        }
      },
      { passive: false },
    );

    function moveCursor([down, right]) {
      cursor = cursor
        ? [between(cursor[0] + down, 0, shown.rows - 1), between(cursor[1] + right, 0, shown.columns - 1)]
        : [Math.floor(view.top), Math.floor(view.left)];
      if (view.isOutside(cursor)) {
        zoom(cursor, 1);
      }
      spoken.textContent = words(cursor);
      matrix.onPoint(cursor);
    }
    canvas.addEventListener("keydown", (event) => {
      if (!shown) {
        return;
      }
      if (STEPS[event.key]) {
        moveCursor(STEPS[event.key]);
      } else if (event.key === "+") {
        zoom(middle(), 1.6);
      } else if (event.key === "-") {
        zoom(middle(), 1 / 1.6);
      } else if (event.key === "0") {
        showAll();
      } else if (event.key === "Enter" && cursor) {
        matrix.onPick(cursor);
      } else {
        return;
      }
      event.preventDefault();
      drawing.later();
    });
    canvas.addEventListener("blur", () => {
      cursor = null;
      spoken.textContent = "";
      drawing.later();
    });
    return matrix;
  };
})();
