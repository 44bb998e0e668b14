// Canvases: how they are set up, when they are drawn again, and how they are painted pixel by pixel.
(() => {
  /** Makes a canvas as sharp as the screen; gives its context, empty and scaled to CSS pixels. */
  function sizedContext(canvas, width, height) {
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  /**
   * Keeps a canvas drawn while the width of its host and the colours of the page change.
   *
   * `sizeIn(width of the host)` gives [width, height] of the canvas, or null while there is nothing to draw;
   * `draw(context, theme, width, height)` draws on the empty canvas. The result draws again when it is told
   * that something else has changed: `now`, or `later` with the next frame, once however often it is told.
   */
  Haarbor.drawing = ({ canvas, host, sizeIn, draw }) => {
    let frame = null;
    function now() {
      frame = null;
      const size = host.clientWidth > 0 ? sizeIn(host.clientWidth) : null;
      if (size === null) {
        return;
      }
      const [width, height] = size;
      draw(sizedContext(canvas, width, height), Haarbor.theme(), width, height);
    }
    function later() {
      frame = frame || requestAnimationFrame(now);
    }
    Haarbor.onWidth(host, now);
    Haarbor.onTheme(now);
    return { now, later };
  };

  /**
   * Paints every pixel of a canvas: pixel i gets colour number `colourAt(i)` of `colours`, a table of red,
   * green and blue; where that is null it stays clear.
   */
  Haarbor.paint = (canvas, colours, colourAt) => {
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    const pixels = image.data;
    for (let i = 0; 4 * i < pixels.length; i++) {
      const colour = colourAt(i);
      if (colour !== null) {
        pixels[4 * i] = colours[3 * colour];
        pixels[4 * i + 1] = colours[3 * colour + 1];
        pixels[4 * i + 2] = colours[3 * colour + 2];
        pixels[4 * i + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
    return canvas;
  };

  Haarbor.line = (context, fromX, fromY, toX, toY) => {
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
    context.stroke();
  };

  /** Place of a pointer on a canvas, in CSS pixels from its upper left corner. */
  Haarbor.placeOn = (canvas, event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
})();
