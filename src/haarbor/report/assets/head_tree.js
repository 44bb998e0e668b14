// The head tree, level by level from the root at the top: folders are blocks over their heads.
(() => {
  const { el, svg } = Haarbor;

  // Folders of the tree, each once with the levels it stands on, children in leaf order.
  const folders = (levels, order) => {
    const n = order.length, depth = levels.length;
    const build = (level, begin, end) => {
      let last = level;
      const splits = (l) => { for (let i = begin + 1; i < end; i++) if (levels[l][order[i]] !== levels[l][order[begin]]) return true; return false; };
      while (last + 1 < depth && !splits(last + 1)) last++;
      const node = { first: level, last, begin, end, heads: order.slice(begin, end), children: [], collapsed: false };
      if (last + 1 < depth) {
        let start = begin;
        for (let i = begin + 1; i <= end; i++)
          if (i === end || levels[last + 1][order[i]] !== levels[last + 1][order[start]]) { node.children.push(build(last + 1, start, i)); start = i; }
        node.children.forEach((child) => { child.parent = node; });
      }
      return node;
    };
    return build(0, 0, n);
  };
  const walk = (node, act) => { act(node); node.children.forEach((child) => walk(child, act)); };

  Haarbor.headTree = (run, side) => {
    const { state, data } = run, { levels, order } = data.geometry;
    const root = folders(levels, order), depth = levels.length;
    const drawing = svg("svg", { class: "tree", role: "tree", "aria-label": "Tree of the heads, the root on top" });
    const host = el("div", { class: "tree-host" }, drawing);
    let focus = root, nodes = new Map(), focusable = root;
    const leaves = new Map();
    walk(root, (node) => { if (node.heads.length === 1 && !node.children.length) leaves.set(node.heads[0], node); });

    const weight = (node) => (node.collapsed ? Math.max(1.5, Math.sqrt(node.heads.length)) : node.children.length ? node.children.reduce((sum, c) => sum + weight(c), 0) : 1);
    const meanShare = (node) => {
      const shares = run.shares(), known = node.heads.map((h) => shares[h]).filter((s) => s !== null);
      return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
    };
    const words = (node) => (node.heads.length === 1 ? `head ${run.names[node.heads[0]]}` : `folder of ${node.heads.length} heads, level ${node.first}${node.collapsed ? ", closed" : ""}`);

    const draw = () => {
      const width = host.clientWidth, small = width < 600, left = small ? 22 : 64, rowHeight = Math.max(20, Math.min(34, 300 / depth));
      const height = depth * rowHeight + 4;
      const keep = document.activeElement && drawing.contains(document.activeElement) ? focusable : null;
      drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
      drawing.setAttribute("width", width);
      drawing.setAttribute("height", height);
      drawing.replaceChildren();
      nodes = new Map();
      for (let level = focus.first; level < depth; level++) {
        const text = small ? String(level) : level === 0 ? "all heads" : level === depth - 1 ? "heads" : `level ${level}`;
        drawing.append(svg("text", { x: left - 6, y: (level - focus.first) * rowHeight + rowHeight / 2 + 4, class: "level", "text-anchor": "end" }, text));
      }
      const per = (width - left - 2) / weight(focus);
      const shift = focus.first;
      const place = (node, x) => {
        const wide = weight(node) * per;
        const bottom = node.collapsed || !node.children.length ? depth - 1 : node.last;
        const y = (node.first - shift) * rowHeight, tall = (bottom - node.first + 1) * rowHeight;
        const share = meanShare(node), palette = state.get("palette");
        const gap = wide > 5 ? 1 : wide > 2.5 ? 0.4 : 0;
        const block = svg("rect", { x: x + left, y: y + 0.5, width: Math.max(0.6, wide - gap), height: tall - 1, rx: wide > 12 ? 2 : 0, fill: Haarbor.colour(share, palette) });
        const group = svg("g", { class: `folder${node.heads.length === 1 ? " leaf" : ""}${node.collapsed ? " closed" : ""}`, role: "treeitem", tabindex: node === focusable ? 0 : -1, "aria-label": words(node), "aria-expanded": node.children.length ? String(!node.collapsed) : null }, block);
        group.dataset.heads = node.heads.length;
        if (node.heads.length === 1) group.dataset.head = node.heads[0];
        const ink = Haarbor.inkOn(share, palette);
        const single = node.heads.length === 1;
        const text = single ? run.names[node.heads[0]] : node.collapsed ? `${node.heads.length}` : wide > 90 ? `${node.heads.length} heads` : `${node.heads.length}`;
        const room = 6.6 * text.length + (single ? 4 : 22);
        if (wide > room) group.append(svg("text", { x: x + left + (single ? wide / 2 : 18), y: y + Math.min(tall, rowHeight) / 2 + 4, class: "name", fill: ink, "text-anchor": single ? "middle" : "start" }, text));
        else if (single && wide > 10 && tall > 7 * text.length + 6) group.append(svg("text", { x: 0, y: 0, class: "name", fill: ink, "text-anchor": "middle", transform: `translate(${x + left + wide / 2 + 3.5}, ${y + tall / 2}) rotate(-90)` }, text));
        if (node.children.length && wide > 14) {
          const toggle = svg("text", { x: x + left + 5, y: y + rowHeight / 2 + 4, class: "toggle", fill: ink }, node.collapsed ? "\u25b8" : "\u25be");
          toggle.addEventListener("click", (event) => { event.stopPropagation(); collapse(node); });
          group.append(toggle);
        }
        listen(group, node);
        nodes.set(node, group);
        drawing.append(group);
        if (!node.collapsed) { let at = x; for (const child of node.children) { place(child, at); at += weight(child) * per; } }
      };
      place(focus, 0);
      mark();
      if (keep && nodes.has(keep)) nodes.get(keep).focus();
    };
    const collapse = (node) => { node.collapsed = !node.collapsed; draw(); };
    const zoom = (node) => { focus = node; focusable = node; up.disabled = focus === root; draw(); };
    const open = (node, event) => {
      if (node.heads.length === 1) (event.shiftKey ? run.toggle : run.choose)(node.heads[0]);
      else run.brush(node.heads);
    };
    const listen = (group, node) => {
      group.addEventListener("pointerenter", (event) => {
        if (node.heads.length === 1) { state.set({ hovered: node.heads[0] }); Haarbor.tooltip.head(run, node.heads[0], event); return; }
        const score = run.score(), values = node.heads.map((h) => score.values[h]).filter((v) => v !== null);
        const names = node.heads.slice(0, 12).map((h) => run.names[h]).join(", ") + (node.heads.length > 12 ? ", \u2026" : "");
        Haarbor.tooltip.text(event, `${node.heads.length} heads, level ${node.first}${node.last > node.first ? ` to ${node.last}` : ""}`, names,
          `${score.label}: ${Haarbor.number(values.reduce((a, b) => a + b, 0) / values.length)} on average`, "click: compare; double click: zoom in");
      });
      group.addEventListener("pointerleave", () => { state.set({ hovered: null }); Haarbor.tooltip.hide(); });
      group.addEventListener("click", (event) => open(node, event));
      group.addEventListener("dblclick", () => { if (node.children.length) zoom(node === focus && node.parent ? node.parent : node); });
      group.addEventListener("keydown", (event) => {
        const siblings = node.parent ? node.parent.children : [node], at = siblings.indexOf(node);
        const next = { ArrowUp: node === focus ? null : node.parent, ArrowDown: node.collapsed ? null : node.children[0], ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1] }[event.key];
        if (next && nodes.has(next)) { nodes.get(focusable).setAttribute("tabindex", -1); focusable = next; nodes.get(next).setAttribute("tabindex", 0); nodes.get(next).focus(); event.preventDefault(); return; }
        if (event.key === "Enter") open(node, event);
        else if (event.key === " " && node.children.length) { focusable = node; collapse(node); nodes.get(node).focus(); }
        else if (event.key === "z" && node.children.length) { zoom(node); nodes.get(node).focus(); }
        else if (event.key === "Escape" && focus.parent) { zoom(focus.parent); nodes.get(focus).focus(); }
        else return;
        event.preventDefault();
      });
    };
    const mark = () => {
      const chosen = state.get("chosen"), hovered = state.get("hovered"), brushed = new Set(state.get("brushed"));
      const path = new Set(), shine = new Set();
      for (let node = leaves.get(chosen); node; node = node.parent) path.add(node);
      for (let node = hovered === null ? null : leaves.get(hovered); node; node = node.parent) shine.add(node);
      for (const [node, group] of nodes) {
        group.classList.toggle("chosen", path.has(node));
        group.classList.toggle("hovered", shine.has(node));
        group.classList.toggle("brushed", brushed.size > 0 && node.heads.every((h) => brushed.has(h)));
      }
    };
    const up = Haarbor.button("Zoom out", () => zoom(focus.parent || root), { disabled: true, "data-act": "zoom-out" });
    const below = Haarbor.select("Fold below level", [["", "open"], ...Array.from({ length: Math.max(0, depth - 2) }, (_, i) => [String(i + 1), String(i + 1)])], "", (value) => {
      walk(root, (node) => { node.collapsed = value !== "" && node.children.length > 0 && node.last >= Number(value); });
      if (value === "") zoom(root); else { focus = root; focusable = root; up.disabled = true; draw(); }
    });
    below.querySelector("select").dataset.role = "fold";
    state.on(["hovered", "chosen", "brushed"], mark);
    state.on(["score", "palette", "scaleBy"], () => { if (host.isConnected) draw(); });
    Haarbor.addTable(run, {
      name: "head-tree", title: "Head tree: the folder of every head at every level",
      columns: ["layer", "head", ...levels.map((_, level) => `level_${level}`)],
      rows: () => run.names.map((_, head) => [run.layerOf(head), head % data.heads_per_layer, ...levels.map((row) => row[head])]),
    });
    side.append(Haarbor.figure(run.id("head-tree"), "Head tree", "Each row splits the heads into finer folders of alike heads, coloured by their mean score.",
      el("div", { class: "controls" }, below, up, Haarbor.button("Open all", () => { walk(root, (n) => { n.collapsed = false; }); below.querySelector("select").value = ""; zoom(root); }), Haarbor.tableButton(run, "head-tree")),
      host, el("p", { class: "note keys" }, "Click a folder to compare its heads, its triangle to fold it, double-click to zoom in. Keys: arrows move, Enter compares or opens, Space folds, z zooms in, Escape zooms out.")));
    Haarbor.onWidth(host, draw);
  };
})();
