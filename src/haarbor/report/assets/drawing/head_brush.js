// A rectangle drawn over the cells of heads: those it touches are compared.
(() => {
  const { el } = Haarbor;
  // A press that moves by less is a click.
  const LEAST_DRAG = 5;

  function rectangle(x, y, otherX, otherY) {
    return {
      left: Math.min(x, otherX),
      right: Math.max(x, otherX),
      top: Math.min(y, otherY),
      bottom: Math.max(y, otherY),
    };
  }

  function touches(box, { left, right, top, bottom }) {
    return box.left < right && box.right > left && box.top < bottom && box.bottom > top;
  }

  function headsIn(cells, area) {
    return [...cells.keys()].filter((head) => touches(cells[head].getBoundingClientRect(), area));
  }

  /** Heads of the cells in the rectangle that two cells span. */
  Haarbor.headsBetween = (cells, one, two) => {
    const [first, second] = [cells[one], cells[two]].map((cell) => {
      const box = cell.getBoundingClientRect();
      return [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    });
    const area = rectangle(...first, ...second);
    // A rectangle without width touches nothing.
    return headsIn(cells, {
      left: area.left - 1,
      right: area.right + 1,
      top: area.top - 1,
      bottom: area.bottom + 1,
    });
  };

  Haarbor.brushByDrawing = (run, grid, cells) => {
    const frame = el("div", { class: "brush", hidden: true, "aria-hidden": "true" });
    let begun = null;
    let hasDrawn = false;

    function draw(area) {
      const box = grid.getBoundingClientRect();
      frame.style.left = `${area.left - box.left}px`;
      frame.style.top = `${area.top - box.top}px`;
      frame.style.width = `${area.right - area.left}px`;
      frame.style.height = `${area.bottom - area.top}px`;
      frame.hidden = false;
    }

    grid.addEventListener("pointerdown", (event) => {
      begun = event.pointerType === "touch" || event.button !== 0 ? null : [event.clientX, event.clientY];
      hasDrawn = false;
    });
    addEventListener("pointermove", (event) => {
      if (!begun || !(event.buttons & 1)) {
        return;
      }
      const area = rectangle(...begun, event.clientX, event.clientY);
      const isFar = area.right - area.left + area.bottom - area.top > LEAST_DRAG;
      if (!hasDrawn && !isFar) {
        return;
      }
      hasDrawn = true;
      Haarbor.tooltip.hide();
      draw(area);
      run.brush(headsIn(cells, area));
    });
    addEventListener("pointerup", () => {
      begun = null;
      frame.hidden = true;
    });
    grid.addEventListener(
      "click",
      (event) => {
        if (hasDrawn) {
          event.stopPropagation();
        }
        hasDrawn = false;
      },
      true,
    );
    return frame;
  };
})();
