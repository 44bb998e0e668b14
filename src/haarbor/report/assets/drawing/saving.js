// Any figure of the page as a picture of its own: its texts, boxes, canvases and drawings in one SVG, or PNG.
(() => {
  const { el, svg } = Haarbor;
  const EDGE = 14;
  const PNG_SCALE = 2;
  const IS_CLEAR = /^(?:transparent|rgba\(.*, 0\))$/;
  // What is for the hand and not for the eye.
  const LEFT_OUT = ".controls, .keys, .zoom, .save, .hidden, .tooltip, button.csv";
  const STYLES = [
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "opacity",
    "font-size",
    "font-weight",
  ];

  function numberOf(value) {
    return Math.round(value * 100) / 100;
  }

  function boxOf(node, origin) {
    const { left, top, width, height } = node.getBoundingClientRect();
    return {
      x: numberOf(left - origin.left),
      y: numberOf(top - origin.top),
      width: numberOf(width),
      height: numberOf(height),
    };
  }

  /** Background and border of an element, if it has any that can be seen. */
  function backgroundOf(node, style, origin) {
    const hasBorder = parseFloat(style.borderTopWidth) > 0 && parseFloat(style.borderLeftWidth) > 0;
    const isFilled = !IS_CLEAR.test(style.backgroundColor);
    if (!hasBorder && !isFilled) {
      return null;
    }
    return svg("rect", {
      ...boxOf(node, origin),
      rx: parseFloat(style.borderTopLeftRadius) || 0,
      fill: isFilled ? style.backgroundColor : "none",
      stroke: hasBorder ? style.borderTopColor : null,
      "stroke-width": hasBorder ? parseFloat(style.borderTopWidth) : null,
    });
  }

  /** The pieces of a text as they lie in its lines: [words, box] each. */
  function linesOf(text) {
    const range = document.createRange();
    const found = [];
    for (const { 0: word, index } of text.data.matchAll(/\S+\s*/g)) {
      range.setStart(text, index);
      range.setEnd(text, index + word.trimEnd().length);
      const box = range.getBoundingClientRect();
      const last = found.at(-1);
      if (last && Math.abs(last[1].top - box.top) < 2) {
        last[0] += word;
      } else if (box.width > 0) {
        found.push([word, box]);
      }
    }
    return found;
  }

  function textNodes(text, origin) {
    const style = getComputedStyle(text.parentElement);
    const size = parseFloat(style.fontSize);
    return linesOf(text).map(([words, box]) =>
      svg(
        "text",
        {
          x: numberOf(box.left - origin.left),
          y: numberOf(box.top - origin.top + box.height / 2 + 0.35 * size),
          fill: style.color,
          "font-size": size,
          "font-weight": style.fontWeight,
          "font-family": "system-ui, sans-serif",
        },
        words.trimEnd(),
      ),
    );
  }

  /** A drawing as it is, with the styles that the page gives it written out. */
  function copiedDrawing(node, origin) {
    const copy = node.cloneNode(true);
    const originals = [node, ...node.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((each, i) => {
      const style = getComputedStyle(originals[i]);
      STYLES.forEach((name) => each.style.setProperty(name, style.getPropertyValue(name)));
      each.removeAttribute("class");
    });
    copy.style.fontFamily = "system-ui, sans-serif";
    const box = boxOf(node, origin);
    Object.entries(box).forEach(([name, value]) => copy.setAttribute(name, value));
    copy.style.position = "static";
    return copy;
  }

  /** A canvas as an image: of one that is scrolled, the part that is seen. */
  function copiedCanvas(canvas, origin) {
    if (!canvas.width || !canvas.height) {
      return [];
    }
    const { clientHeight, scrollTop } = canvas.parentElement;
    const isScrolled =
      canvas.clientHeight > clientHeight && getComputedStyle(canvas.parentElement).overflowY === "auto";
    const box = boxOf(canvas, origin);
    const settings = { ...box, preserveAspectRatio: "none" };
    if (!isScrolled) {
      return [svg("image", { ...settings, href: canvas.toDataURL() })];
    }
    const ratio = canvas.height / canvas.clientHeight;
    const part = el("canvas", { width: canvas.width, height: Math.round(ratio * clientHeight) });
    part.getContext("2d").drawImage(canvas, 0, -ratio * scrollTop);
    const seen = { y: numberOf(box.y + scrollTop), height: clientHeight };
    return [svg("image", { ...settings, ...seen, href: part.toDataURL() })];
  }

  function partsOf(node, origin) {
    if (node.nodeType === Node.TEXT_NODE) {
      return textNodes(node, origin);
    }
    if (!(node instanceof Element) || node.matches(LEFT_OUT) || !node.checkVisibility()) {
      return [];
    }
    if (node instanceof SVGSVGElement) {
      return [copiedDrawing(node, origin)];
    }
    if (node instanceof HTMLCanvasElement) {
      return copiedCanvas(node, origin);
    }
    const own = backgroundOf(node, getComputedStyle(node), origin);
    const inner = [...node.childNodes].flatMap((child) => partsOf(child, origin));
    return [own, ...inner].filter(Boolean);
  }

  /** The figure as an SVG element. */
  function pictureOf(node) {
    // Boxes that scroll are opened for the moment in which everything is measured.
    node.classList.add("saving");
    const box = node.getBoundingClientRect();
    const origin = { left: box.left - EDGE, top: box.top - EDGE };
    const width = Math.ceil(Math.max(box.width, node.scrollWidth)) + 2 * EDGE;
    const height = Math.ceil(box.height) + 2 * EDGE;
    const parts = partsOf(node, origin);
    node.classList.remove("saving");
    return svg(
      "svg",
      { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
      svg("rect", { width, height, fill: Haarbor.theme().card }),
      parts,
    );
  }

  function svgBlob(picture) {
    return new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" });
  }

  async function pngBlob(picture) {
    const address = URL.createObjectURL(svgBlob(picture));
    const image = el("img", { src: address, alt: "" });
    await image.decode();
    URL.revokeObjectURL(address);
    const width = PNG_SCALE * Number(picture.getAttribute("width"));
    const height = PNG_SCALE * Number(picture.getAttribute("height"));
    const canvas = el("canvas", { width, height });
    canvas.getContext("2d").drawImage(image, 0, 0, width, height);
    return new Promise((done) => {
      canvas.toBlob(done, "image/png");
    });
  }

  /** Two small buttons that save a part of the page as a picture. */
  Haarbor.saveButtons = (node, name) => {
    const save = async (kind) => {
      const picture = pictureOf(node);
      const blob = kind === "svg" ? svgBlob(picture) : await pngBlob(picture);
      Haarbor.saveFile(`${name}.${kind}`, blob);
    };
    const buttons = ["svg", "png"].map((kind) =>
      Haarbor.button(kind.toUpperCase(), () => save(kind), {
        title: `Save this picture as ${kind.toUpperCase()}`,
        "data-save": kind,
      }),
    );
    return el("span", { class: "save" }, buttons);
  };
})();
