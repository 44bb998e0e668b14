// The part of a matrix that is looked at: zoomed and moved, never beyond the matrix.
(() => {
  const { between } = Haarbor;
  const LEAST_SPAN = 4;

  /** Where an interval that begins at `low` lies once it is moved and cut to [0, size]. */
  function within(low, span, size) {
    const room = Math.min(size, span);
    const begin = between(low, 0, size - room);
    return [begin, begin + room];
  }

  /** A window onto the whole of a matrix of so many rows and columns. */
  Haarbor.matrixWindow = (rows, columns) => {
    const view = { left: 0, right: columns, top: 0, bottom: rows };

    function put(left, top, wide, tall) {
      [view.left, view.right] = within(left, wide, columns);
      [view.top, view.bottom] = within(top, tall, rows);
    }

    return Object.assign(view, {
      wide: () => view.right - view.left,
      tall: () => view.bottom - view.top,
      middle: () => [(view.top + view.bottom) / 2, (view.left + view.right) / 2],
      isZoomed: () => view.wide() < columns,
      isOutside: ([row, column]) =>
        row < view.top || row >= view.bottom || column < view.left || column >= view.right,
      showAll: () => put(0, 0, columns, rows),
      moveTo: (left, top) => put(left, top, view.wide(), view.tall()),
      /** Zooms in by a factor, with an entry in the middle. */
      zoom([row, column], factor) {
        const tall = between(view.tall() / factor, LEAST_SPAN, rows);
        const wide = between(view.wide() / factor, LEAST_SPAN, columns);
        put(column + 0.5 - wide / 2, row + 0.5 - tall / 2, wide, tall);
      },
    });
  };
})();
