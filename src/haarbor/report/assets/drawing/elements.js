"use strict";
// What the scripts of the page share; they are joined in the order that _page.py gives, this one first.
const Haarbor = { sections: {} };

// Elements and their text. Text from a run only ever becomes a text node or an attribute, never markup.
(() => {
  const PROPERTIES = new Set(["value", "checked", "disabled", "tabIndex"]);

  function isNothing(value) {
    return value === null || value === undefined || value === false;
  }

  /** Sets the listeners (`on`), style rules (`style`), properties and attributes of an element. */
  function apply(node, settings) {
    for (const [name, value] of Object.entries(settings || {})) {
      if (isNothing(value)) {
        continue;
      }
      if (name === "on") {
        Object.entries(value).forEach(([event, act]) => node.addEventListener(event, act));
      } else if (name === "style") {
        Object.entries(value).forEach(([rule, text]) => node.style.setProperty(rule, text));
      } else if (PROPERTIES.has(name)) {
        node[name] = value;
      } else {
        node.setAttribute(name, value === true ? "" : String(value));
      }
    }
  }

  function fill(node, children) {
    for (const child of children.flat(Infinity)) {
      if (!isNothing(child)) {
        node.append(child instanceof Node ? child : document.createTextNode(String(child)));
      }
    }
    return node;
  }

  /** Appends children; those that are null are left out, unlike by `append`. */
  Haarbor.put = (node, ...children) => fill(node, children);

  Haarbor.emptied = (node) => {
    node.replaceChildren();
    return node;
  };

  Haarbor.el = (tag, settings, ...children) => {
    const node = document.createElement(tag);
    apply(node, settings);
    return fill(node, children);
  };

  Haarbor.svg = (tag, settings, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    apply(node, settings);
    return fill(node, children);
  };

  /** Calls `act` with the width of an element, at once and whenever it changes. */
  Haarbor.onWidth = (node, act) => {
    let last = -1;
    const observer = new ResizeObserver(() => {
      const width = Math.floor(node.clientWidth);
      // What was hidden while things changed is drawn again when it comes back.
      const hasChanged = width > 0 && width !== last;
      last = width;
      if (hasChanged) {
        act(width);
      }
    });
    observer.observe(node);
  };
})();
