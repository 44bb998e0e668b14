// The small card beside the pointer: a head with its picture, or a line of text.
(() => {
  let card = null;
  const sprites = new Map();
  const SIDE = 40;
  // All thumbnails of a batch as one image, drawn in the colours of the page.
  Haarbor.thumbnails = (run, place) => {
    const key = `${run.index}/${place}/${run.state.get("palette")}`;
    if (!sprites.has(key)) sprites.set(key, (async () => {
      const bytes = new Uint8Array(await run.blob(`batch-${place}-thumbnails`));
      const across = Math.ceil(Math.sqrt(run.nHeads)), down = Math.ceil(run.nHeads / across);
      const canvas = Haarbor.el("canvas", { width: across * SIDE, height: down * SIDE });
      const context = canvas.getContext("2d"), rgb = Haarbor.palette(run.state.get("palette"));
      const image = context.createImageData(across * SIDE, down * SIDE);
      for (let h = 0; h < run.nHeads; h++) {
        const left = (h % across) * SIDE, top = Math.floor(h / across) * SIDE;
        for (let r = 0; r < SIDE; r++)
          for (let c = 0; c < SIDE; c++) {
            const q = 3 * bytes[(h * SIDE + r) * SIDE + c], at = 4 * ((top + r) * across * SIDE + left + c);
            image.data[at] = rgb[q]; image.data[at + 1] = rgb[q + 1]; image.data[at + 2] = rgb[q + 2]; image.data[at + 3] = 255;
          }
      }
      context.putImageData(image, 0, 0);
      return { canvas, across };
    })());
    return sprites.get(key);
  };
  // A canvas with the thumbnail of a head.
  Haarbor.thumbnail = (run, head, size) => {
    const canvas = Haarbor.el("canvas", { class: "thumbnail", width: SIDE, height: SIDE, "aria-hidden": "true", style: { width: `${size}px`, height: `${size}px` } });
    Haarbor.paintThumbnail(run, head, canvas);
    return canvas;
  };
  Haarbor.paintThumbnail = (run, head, canvas) => Haarbor.thumbnails(run, run.state.get("place")).then(({ canvas: sheet, across }) => {
    canvas.getContext("2d").drawImage(sheet, (head % across) * SIDE, Math.floor(head / across) * SIDE, SIDE, SIDE, 0, 0, SIDE, SIDE);
  });

  const put = (event) => {
    if (!card) { card = Haarbor.el("div", { class: "tooltip", role: "status", "aria-live": "off" }); document.body.append(card); }
    card.hidden = false;
    const width = card.offsetWidth, height = card.offsetHeight, gap = 14;
    let left = event.clientX + gap, top = event.clientY + gap;
    if (left + width > window.innerWidth - 6) left = Math.max(6, event.clientX - gap - width);
    if (top + height > window.innerHeight - 6) top = Math.max(6, event.clientY - gap - height);
    card.style.left = `${left}px`;
    card.style.top = `${top}px`;
  };
  const show = (event, ...content) => {
    if (!card) put(event);
    card.replaceChildren(...content);
    put(event);
  };
  Haarbor.tooltip = {
    head(run, head, event) {
      const score = run.score();
      show(event,
        Haarbor.thumbnail(run, head, 88),
        Haarbor.el("div", {},
          Haarbor.el("strong", {}, run.names[head]), Haarbor.el("span", { class: "pale" }, ` ${run.headWords(head)}`),
          Haarbor.el("div", {}, `${score.label}: ${Haarbor.number(score.values[head])}`),
          run.data.geometry.nearest[head] && run.data.geometry.nearest[head].length
            ? Haarbor.el("div", { class: "pale" }, `nearest: ${run.data.geometry.nearest[head].slice(0, 3).map((h) => run.names[h]).join(", ")}`) : null));
    },
    text(event, ...lines) { show(event, Haarbor.el("div", {}, lines.map((line) => Haarbor.el("div", {}, line)))); },
    hide() { if (card) card.hidden = true; },
  };
})();
