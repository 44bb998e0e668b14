// Weights of patches laid over a picture.
(() => {
  /** Lays the weights of the patches over a picture: the brighter and the less clear, the larger. */
  Haarbor.drawPatchHeat = (context, grid, { width, height, weightOf, palette, alpha }) => {
    const { first, rows, columns } = grid;
    const weights = Array.from({ length: rows * columns }, (_, i) => weightOf(first + i));
    const most = Math.max(0, ...weights);
    const wide = width / columns;
    const tall = height / rows;
    context.fillStyle = `rgba(0,0,0,${0.45 * alpha})`;
    context.fillRect(0, 0, width, height);
    weights.forEach((weight, i) => {
      const share = most > 0 ? Math.sqrt(weight / most) : 0;
      context.fillStyle = Haarbor.seeThroughColour(share, palette, alpha * (0.15 + 0.85 * share));
      context.fillRect((i % columns) * wide, Math.floor(i / columns) * tall, wide + 0.5, tall + 0.5);
    });
  };

  /** Frames the patch of a token, if it has one. */
  Haarbor.drawPatchFrame = (context, theme, { first, rows, columns }, { width, height, token }) => {
    if (token < first || token >= first + rows * columns) {
      return;
    }
    const wide = width / columns;
    const tall = height / rows;
    const left = ((token - first) % columns) * wide;
    const top = Math.floor((token - first) / columns) * tall;
    const strokes = [
      ["#fff", 5],
      [theme.mark, 2.5],
    ];
    for (const [colour, thick] of strokes) {
      context.strokeStyle = colour;
      context.lineWidth = thick;
      context.strokeRect(left + 1, top + 1, wide - 2, tall - 2);
    }
  };
})();
