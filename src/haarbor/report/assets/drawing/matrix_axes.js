// The sides of a matrix: strips in the colours of the patches, and the names of rows and columns.
(() => {
  const STRIP = 7;
  const STRIP_ROOM = 9;

  Haarbor.matrixAxes = {
    STRIP_ROOM,

    /** Strips along the left and the top; `place` says where the entries lie. */
    drawStrips(context, shown, view, place) {
      const { margin, edge, cellWide, cellTall } = place;
      const end = margin + edge;
      for (let row = Math.floor(view.top); row < Math.ceil(view.bottom); row++) {
        if (shown.rowColours[row]) {
          const y = place.y(row);
          context.fillStyle = shown.rowColours[row];
          context.fillRect(
            margin - STRIP_ROOM,
            Math.max(margin, y),
            STRIP,
            Math.min(cellTall + 0.5, end - y),
          );
        }
      }
      for (let column = Math.floor(view.left); column < Math.ceil(view.right); column++) {
        if (shown.columnColours[column]) {
          const x = place.x(column);
          context.fillStyle = shown.columnColours[column];
          context.fillRect(
            Math.max(margin, x),
            margin - STRIP_ROOM,
            Math.min(cellWide + 0.5, end - x),
            STRIP,
          );
        }
      }
    },

    /** Names of as many rows and columns as there is room for, and of the entry that is marked, if any. */
    drawLabels(context, theme, shown, view, place, marked) {
      const size = place.width < 360 ? 9 : 10;
      const edge = place.margin - place.stripRoom - 4;
      const room = edge - 2;
      const mostLetters = Math.floor(room / (size * 0.56));
      const pen = { context, theme, size, mostLetters };
      context.textBaseline = "middle";
      context.textAlign = "right";
      drawSide(pen, {
        from: view.top,
        to: view.bottom,
        cell: place.cellTall,
        texts: shown.rowLabels,
        placeOf: place.y,
        marked: marked ? marked[0] : null,
        write: (text, y) => context.fillText(text, edge, y),
      });
      context.textAlign = "left";
      drawSide(pen, {
        from: view.left,
        to: view.right,
        cell: place.cellWide,
        texts: shown.columnLabels,
        placeOf: place.x,
        marked: marked ? marked[1] : null,
        write: (text, x) => writeUpwards(context, text, x, edge),
      });
    },
  };

  function writeUpwards(context, text, x, y) {
    context.save();
    context.translate(x, y);
    context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
    context.restore();
  }

  function drawSide(pen, side) {
    const { context, theme, size, mostLetters } = pen;
    const { from, to, cell, texts, placeOf, marked, write } = side;
    const lineHeight = size + 2;
    const step = Math.max(1, Math.ceil(lineHeight / cell));
    for (let i = Math.ceil(from); i < Math.floor(to + 0.001); i++) {
      const isMarked = i === marked;
      const isCovered = marked !== null && Math.abs(placeOf(i) - placeOf(marked)) < lineHeight;
      if (!isMarked && (i % step !== 0 || isCovered)) {
        continue;
      }
      context.fillStyle = isMarked ? theme.mark : theme.pale;
      context.font = `${isMarked ? "600 " : ""}${size}px system-ui, sans-serif`;
      write(Haarbor.tokenText(texts[i], mostLetters), placeOf(i) + cell / 2);
    }
  }
})();
