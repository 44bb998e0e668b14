// The head tree, level by level from the root at the top: folders are blocks over their heads.
(() => {
  const { el, svg, between } = Haarbor;
  const N_NAMED = 12;
  const NOTE = "Each row splits the heads into finer folders of alike heads, coloured by their mean score.";
  const KEYS =
    "Click a folder to compare its heads, its triangle to fold it, double-click to zoom in. " +
    "Keys: arrows move, Enter compares or opens, Space folds, z zooms in, Escape zooms out.";

  function isLeaf(folder) {
    return folder.heads.length === 1;
  }

  function walk(folder, act) {
    act(folder);
    folder.children.forEach((child) => walk(child, act));
  }

  /** Width of a folder in the drawing, that of a head being 1. */
  function weight(folder) {
    if (folder.collapsed) {
      return Math.max(1.5, Math.sqrt(folder.heads.length));
    }
    return folder.children.length ? Haarbor.sum(folder.children.map(weight)) : 1;
  }

  /** A folder and those above it. */
  function lineage(folder) {
    const found = new Set();
    for (let at = folder; at; at = at.parent) {
      found.add(at);
    }
    return found;
  }

  /** Of a folder that stands for a chain: in how many steps its parts come off. */
  function stepsText(folder) {
    return folder.steps > 1 ? `, apart in ${folder.steps} steps` : "";
  }

  function levelName(level, depth, isSmall) {
    if (isSmall) {
      return String(level);
    }
    if (level === 0) {
      return "all heads";
    }
    return level === depth - 1 ? "heads" : `level ${level}`;
  }

  Haarbor.headTree = (run, side) => {
    const { state } = run;
    const depth = run.data.geometry.levels.length;
    const root = Haarbor.headFolders(run);
    const drawing = svg("svg", {
      class: "tree",
      role: "tree",
      "aria-label": "Tree of the heads, the root on top",
    });
    const host = el("div", { class: "tree-host" }, drawing);
    const leaves = new Map();
    walk(root, (folder) => {
      if (isLeaf(folder) && !folder.children.length) {
        leaves.set(folder.heads[0], folder);
      }
    });
    let top = root;
    let focusable = root;
    let groups = new Map();

    function meanShare(folder) {
      const shares = run.shares();
      const known = folder.heads.map((head) => shares[head]).filter((share) => share !== null);
      return known.length ? Haarbor.mean(known) : null;
    }

    function words(folder) {
      if (isLeaf(folder)) {
        return `head ${run.names[folder.heads[0]]}`;
      }
      const closed = folder.collapsed ? ", closed" : "";
      return `folder of ${folder.heads.length} heads${stepsText(folder)}, level ${folder.first}${closed}`;
    }

    function blockText(folder, wide) {
      if (isLeaf(folder)) {
        return run.names[folder.heads[0]];
      }
      const isLong = wide > 90 && !folder.collapsed;
      if (folder.steps > 1) {
        const isRoomy = wide > 190 && !folder.collapsed;
        return isRoomy ? `${folder.heads.length} heads${stepsText(folder)}` : `${folder.steps} steps`;
      }
      return isLong ? `${folder.heads.length} heads` : String(folder.heads.length);
    }

    function folderGroup(folder, place) {
      const share = meanShare(folder);
      const palette = state.get("palette");
      const hasChildren = folder.children.length > 0;
      const kinds = ["folder", isLeaf(folder) ? "leaf" : "", folder.collapsed ? "closed" : ""];
      const settings = {
        class: kinds.filter(Boolean).join(" "),
        role: "treeitem",
        tabindex: folder === focusable ? 0 : -1,
        "aria-label": words(folder),
        "aria-expanded": hasChildren ? String(!folder.collapsed) : null,
        "data-heads": folder.heads.length,
        "data-head": isLeaf(folder) ? folder.heads[0] : null,
        on: reactions(folder),
      };
      const block = Haarbor.treeBlock(place, {
        text: blockText(folder, place.wide),
        fill: Haarbor.colour(share, palette),
        ink: Haarbor.inkOn(share, palette),
        isLeaf: isLeaf(folder),
        isClosed: folder.collapsed,
        fold: hasChildren ? () => fold(folder) : null,
      });
      return svg("g", settings, block);
    }

    function draw() {
      const width = host.clientWidth;
      const isSmall = width < 600;
      const left = isSmall ? 22 : 64;
      const rowHeight = between(300 / depth, 20, 34);
      const height = depth * rowHeight + 4;
      const perWeight = (width - left - 2) / weight(top);
      const hadFocus = drawing.contains(document.activeElement);
      drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
      drawing.setAttribute("width", width);
      drawing.setAttribute("height", height);
      drawing.replaceChildren();
      groups = new Map();

      function placeLevelNames() {
        for (let level = top.first; level < depth; level++) {
          const y = (level - top.first) * rowHeight + rowHeight / 2 + 4;
          const settings = { x: left - 6, y, class: "level", "text-anchor": "end" };
          drawing.append(svg("text", settings, levelName(level, depth, isSmall)));
        }
      }
      function place(folder, x) {
        const isOpen = folder.children.length > 0 && !folder.collapsed;
        const last = isOpen ? folder.last : depth - 1;
        const group = folderGroup(folder, {
          x: x + left,
          y: (folder.first - top.first) * rowHeight,
          wide: weight(folder) * perWeight,
          tall: (last - folder.first + 1) * rowHeight,
          rowHeight,
        });
        groups.set(folder, group);
        drawing.append(group);
        if (isOpen) {
          let at = x;
          for (const child of folder.children) {
            place(child, at);
            at += weight(child) * perWeight;
          }
        }
      }
      placeLevelNames();
      place(top, 0);
      mark();
      if (hadFocus && groups.has(focusable)) {
        groups.get(focusable).focus();
      }
    }

    function fold(folder) {
      folder.collapsed = !folder.collapsed;
      draw();
    }

    function zoom(folder) {
      top = folder;
      focusable = folder;
      zoomOut.disabled = top === root;
      draw();
    }

    function open(folder, event) {
      if (isLeaf(folder)) {
        (event.shiftKey ? run.toggle : run.choose)(folder.heads[0]);
      } else {
        run.brush(folder.heads);
      }
    }

    function tellOf(folder, event) {
      const { heads, first, last } = folder;
      const score = run.score();
      const values = heads.map((head) => score.values[head]).filter((value) => value !== null);
      const names = heads.slice(0, N_NAMED).map((head) => run.names[head]);
      const more = heads.length > N_NAMED ? ", \u2026" : "";
      const levels = last > first ? `${first} to ${last}` : first;
      Haarbor.tooltip.text(
        event,
        `${heads.length} heads${stepsText(folder)}, level ${levels}`,
        names.join(", ") + more,
        `${score.label}: ${Haarbor.number(Haarbor.mean(values))} on average`,
        "click: compare; double click: zoom in",
      );
    }

    /** The folder that an arrow key leads to from another. */
    function neighbour(folder, key) {
      const siblings = folder.parent ? folder.parent.children : [folder];
      const at = siblings.indexOf(folder);
      const found = {
        ArrowUp: folder === top ? null : folder.parent,
        ArrowDown: folder.collapsed ? null : folder.children[0],
        ArrowLeft: siblings[at - 1],
        ArrowRight: siblings[at + 1],
      }[key];
      return groups.has(found) ? found : null;
    }

    function moveFocus(folder) {
      groups.get(focusable)?.setAttribute("tabindex", -1);
      focusable = folder;
      groups.get(folder).setAttribute("tabindex", 0);
      groups.get(folder).focus();
    }

    function press(folder, event) {
      const next = neighbour(folder, event.key);
      const hasChildren = folder.children.length > 0;
      if (next) {
        moveFocus(next);
      } else if (event.key === "Enter") {
        open(folder, event);
      } else if (event.key === " " && hasChildren) {
        focusable = folder;
        fold(folder);
        groups.get(folder).focus();
      } else if (event.key === "z" && hasChildren) {
        zoom(folder);
        groups.get(folder).focus();
      } else if (event.key === "Escape" && top.parent) {
        zoom(top.parent);
        groups.get(top).focus();
      } else {
        return;
      }
      event.preventDefault();
    }

    function reactions(folder) {
      return {
        pointerenter(event) {
          if (isLeaf(folder)) {
            run.point(folder.heads[0], event);
          } else {
            tellOf(folder, event);
          }
        },
        pointerleave: run.pointAway,
        click: (event) => open(folder, event),
        dblclick() {
          if (folder.children.length) {
            zoom(folder === top && folder.parent ? folder.parent : folder);
          }
        },
        keydown: (event) => press(folder, event),
      };
    }

    function mark() {
      const chosen = lineage(leaves.get(state.get("chosen")));
      const hovered = lineage(leaves.get(state.get("hovered")));
      const brushed = new Set(state.get("brushed"));
      for (const [folder, group] of groups) {
        group.classList.toggle("chosen", chosen.has(folder));
        group.classList.toggle("hovered", hovered.has(folder));
        group.classList.toggle(
          "brushed",
          folder.heads.every((head) => brushed.has(head)),
        );
      }
    }

    /** Folds the folders that split at a level or below it; none where the level is Infinity. */
    function foldBelow(level) {
      walk(root, (folder) => {
        folder.collapsed = folder.children.length > 0 && folder.last >= level;
      });
      zoom(root);
    }

    const zoomOut = Haarbor.button("Zoom out", () => zoom(top.parent || root), {
      disabled: true,
      "data-act": "zoom-out",
    });
    const levels = Array.from({ length: Math.max(0, depth - 2) }, (_, i) => String(i + 1));
    const foldLevel = Haarbor.select(
      "Fold below level",
      [["", "open"], ...levels.map((level) => [level, level])],
      "",
      (value) => foldBelow(value === "" ? Infinity : Number(value)),
    );
    const foldSelect = foldLevel.querySelector("select");
    foldSelect.dataset.role = "fold";
    const openAll = Haarbor.button("Open all", () => {
      foldSelect.value = "";
      foldBelow(Infinity);
    });
    state.on(["hovered", "chosen", "brushed"], mark);
    state.on(["score", "palette", "scaleBy"], () => {
      if (host.isConnected) {
        draw();
      }
    });
    Haarbor.onWidth(host, draw);
    const controls = Haarbor.controls(foldLevel, zoomOut, openAll, Haarbor.tableButton(run, "head-tree"));
    const keys = el("p", { class: "note keys" }, KEYS);
    side.append(Haarbor.figure(run.id("head-tree"), "Head tree", NOTE, controls, host, keys));
  };
})();
