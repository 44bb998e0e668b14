// A folder of a tree as a block: its colour, as much of its name as there is room for, and its triangle.
(() => {
  const { svg } = Haarbor;
  const LETTER_WIDTH = 6.6;
  const LETTER_HEIGHT = 7;

  function gapBeside(wide) {
    if (wide > 5) {
      return 1;
    }
    return wide > 2.5 ? 0.4 : 0;
  }

  /** The name in a block: along it, upright if it is narrow and high, or none where there is no room. */
  function nameNode({ x, y, wide, tall, rowHeight }, { text, isLeaf, ink }) {
    const room = LETTER_WIDTH * text.length + (isLeaf ? 4 : 22);
    if (wide > room) {
      const settings = {
        x: x + (isLeaf ? wide / 2 : 18),
        y: y + Math.min(tall, rowHeight) / 2 + 4,
        class: "name",
        fill: ink,
        "text-anchor": isLeaf ? "middle" : "start",
      };
      return svg("text", settings, text);
    }
    if (isLeaf && wide > 10 && tall > LETTER_HEIGHT * text.length + 6) {
      const place = `translate(${x + wide / 2 + 3.5}, ${y + tall / 2}) rotate(-90)`;
      const settings = { x: 0, y: 0, class: "name", fill: ink, "text-anchor": "middle", transform: place };
      return svg("text", settings, text);
    }
    return null;
  }

  function triangleNode({ x, y, rowHeight }, { ink, isClosed, fold }) {
    const settings = {
      x: x + 5,
      y: y + rowHeight / 2 + 4,
      class: "toggle",
      fill: ink,
      on: {
        click(event) {
          event.stopPropagation();
          fold();
        },
      },
    };
    return svg("text", settings, isClosed ? "\u25b8" : "\u25be");
  }

  /**
   * The parts of a block at { x, y, wide, tall, rowHeight } that looks { text, fill, ink, isLeaf, isClosed }.
   *
   * Its `fold` is called when the triangle is pressed; without it there is none.
   */
  Haarbor.treeBlock = (place, look) => {
    const rect = svg("rect", {
      x: place.x,
      y: place.y + 0.5,
      width: Math.max(0.6, place.wide - gapBeside(place.wide)),
      height: place.tall - 1,
      rx: place.wide > 12 ? 2 : 0,
      fill: look.fill,
    });
    const hasTriangle = look.fold && place.wide > 14;
    return [rect, nameNode(place, look), hasTriangle ? triangleNode(place, look) : null];
  };
})();
