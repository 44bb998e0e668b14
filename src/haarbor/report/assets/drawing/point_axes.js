// Axes of a cloud of points: ticks and lines in the plane, a box in space.
(() => {
  const { line } = Haarbor;
  // Faces of the box lie a little outside the points, and the names of its axes outside the faces.
  const FACE = 1.1;
  const NAME = 1.25;

  /** Round numbers between two, about five of them. */
  function ticks(low, high) {
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough || 1));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) || rough;
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) {
      found.push(Math.abs(value) < step * 1e-6 ? 0 : value);
    }
    return found;
  }

  function drawBox(context, project) {
    // The three lowest bits of a corner's number say on which side it lies.
    const corner = (number) => project([1, 2, 4].map((bit) => (number & bit ? FACE : -FACE)));
    for (let number = 0; number < 8; number++) {
      for (const bit of [1, 2, 4]) {
        if (!(number & bit)) {
          const [fromX, fromY] = corner(number);
          const [toX, toY] = corner(number | bit);
          line(context, fromX, fromY, toX, toY);
        }
      }
    }
    for (let axis = 0; axis < 3; axis++) {
      const end = [-FACE, -FACE, -FACE];
      end[axis] = NAME;
      const [x, y] = project(end);
      context.fillText(String(axis + 1), x, y);
    }
  }

  /** Shadows on the floor say how deep a point stands. */
  function drawShadows(context, theme, project, points) {
    context.fillStyle = theme.line;
    for (const [pointX, pointY] of points) {
      const [x, y, , nearness] = project([pointX, pointY, -FACE]);
      context.beginPath();
      context.arc(x, y, 2 * nearness, 0, 7);
      context.fill();
    }
  }

  /** Ticks along axis k as [text, place in the unit cube]. */
  function axisTicks(projection, spans, k) {
    const [middle, half] = spans[k];
    const [low, high] = projection.range(k);
    return ticks(middle + low * half, middle + high * half).map((value) => [
      Haarbor.number(value),
      (value - middle) / half,
    ]);
  }

  function drawPlane(context, { projection, project, spans, width, height }) {
    const { MARGIN } = projection;
    const bottom = height - MARGIN.bottom;
    context.textAlign = "center";
    for (const [text, place] of axisTicks(projection, spans, 0)) {
      const [x] = project([place, 0]);
      line(context, x, MARGIN.top, x, bottom);
      context.fillText(text, x, bottom + 14);
    }
    const middleX = MARGIN.left + (width - MARGIN.left - MARGIN.right) / 2;
    context.fillText("diffusion coordinate 1", middleX, height - 6);
    if (spans.length < 2) {
      return;
    }
    context.textAlign = "right";
    for (const [text, place] of axisTicks(projection, spans, 1)) {
      const [, y] = project([0, place]);
      line(context, MARGIN.left, y, width - MARGIN.right, y);
      context.fillText(text, MARGIN.left - 5, y + 4);
    }
    context.save();
    context.translate(10, MARGIN.top + (bottom - MARGIN.top) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText("diffusion coordinate 2", 0, 0);
    context.restore();
  }

  /** `spans` holds the middle and half the range of every coordinate; `points` lie in the unit cube. */
  Haarbor.drawPointAxes = (context, theme, axes) => {
    context.font = "11px system-ui, sans-serif";
    context.strokeStyle = theme.line;
    context.fillStyle = theme.pale;
    context.lineWidth = 1;
    if (axes.projection.isSpace) {
      drawBox(context, axes.project);
      drawShadows(context, theme, axes.project, axes.points);
    } else {
      drawPlane(context, axes);
    }
  };
})();
