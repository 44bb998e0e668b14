// The address of the page keeps what is looked at, so that a copied link, or a reload, shows the same.
//
// It reads like #explorer-section&head=2.5&score=entropy&compare=1.2,3.4; keys of the second run begin
// with "b.". Whatever in it is not known, or not possible in this page, is left out.
(() => {
  const SECOND = "b.";

  function headNamed(run, text) {
    const head = run.names.indexOf(text);
    return head < 0 ? undefined : head;
  }

  function oneOf(choices) {
    return {
      write: (run, value) => value,
      read: (run, text) => (choices(run).includes(text) ? text : undefined),
    };
  }

  // How each part of the state is written, and read; what cannot be read is undefined.
  const FIELDS = {
    head: { key: "chosen", write: (run, head) => run.names[head], read: headNamed },
    score: { key: "score", isShared: true, ...oneOf((run) => run.data.scores.map(({ name }) => name)) },
    order: { key: "order", ...oneOf(() => Haarbor.HEAD_ORDERS) },
    scale: {
      key: "scaleBy",
      isShared: true,
      ...oneOf((run) => (run.letter ? ["common", "values", "ranks"] : ["values", "ranks"])),
    },
    palette: { key: "palette", isShared: true, ...oneOf(() => Haarbor.PALETTES) },
    first: { key: "firstToken", ...oneOf(() => Haarbor.FIRST_TOKEN) },
    compare: {
      key: "brushed",
      write: (run, heads) => heads.map((head) => run.names[head]).join(","),
      read(run, text) {
        const heads = text.split(",").map((name) => headNamed(run, name));
        return [...new Set(heads)].filter((head) => head !== undefined).sort((a, b) => a - b);
      },
    },
    batch: {
      key: "place",
      write: (run, place) => run.data.shown[place].batch,
      read(run, text) {
        const place = run.data.shown.findIndex(({ batch }) => String(batch) === text);
        return place < 0 ? undefined : place;
      },
    },
    token: {
      key: "query",
      write: (run, token) => token,
      read(run, text) {
        const token = /^\d{1,6}$/.test(text) ? Number(text) : Infinity;
        return run.data.shown.every(({ n_queries: n }) => token < n) ? token : undefined;
      },
    },
  };

  function isSame(one, two) {
    return JSON.stringify(one) === JSON.stringify(two);
  }

  /** The section and the values by key that an address holds. */
  function parsed(hash) {
    const [first, ...rest] = hash.replace(/^#/, "").split("&");
    const pairs = first.includes("=") ? [first, ...rest] : rest;
    const values = new Map();
    for (const pair of pairs) {
      const at = pair.indexOf("=");
      try {
        values.set(pair.slice(0, at), decodeURIComponent(pair.slice(at + 1)));
      } catch {
        // What is not well written is left out.
      }
    }
    return { section: first.includes("=") ? "" : first, values };
  }

  /** Whether two runs have this in common, so that it is written once. */
  function isWrittenBefore(run, { key, isShared }) {
    return isShared && run.index > 0 && isSame(run.state.get(key), Haarbor.runs[0].state.get(key));
  }

  function prefixOf(run) {
    return run.index ? SECOND : "";
  }

  /** What differs from a page just opened, as an address has it. */
  function written(runs, initial) {
    return runs.flatMap((run) =>
      Object.entries(FIELDS)
        .filter(([, field]) => !isWrittenBefore(run, field))
        .filter(([, { key }]) => !isSame(run.state.get(key), initial[run.index][key]))
        .map(([name, { key, write }]) => {
          const text = encodeURIComponent(write(run, run.state.get(key))).replaceAll("%2C", ",");
          return `${prefixOf(run)}${name}=${text}`;
        }),
    );
  }

  /** Brings the state of a run to what the values say, or to that of a page just opened. */
  function apply(run, values, initial) {
    const changes = {};
    for (const [name, { key, read, isShared }] of Object.entries(FIELDS)) {
      const text = values.get(prefixOf(run) + name) ?? (isShared ? values.get(name) : undefined);
      changes[key] = (text === undefined ? undefined : read(run, text)) ?? initial[key];
    }
    run.state.set(changes);
  }

  function goTo(section) {
    const target = section && document.getElementById(section);
    if (target && target.closest("#page")) {
      Haarbor.showRunOf(target);
      target.scrollIntoView({ behavior: "instant", block: "start" });
    }
  }

  /** Reads the address, and keeps it up to date from now on. */
  Haarbor.keepAddress = (runs) => {
    const keys = Object.values(FIELDS).map(({ key }) => key);
    const initial = runs.map(({ state }) => Object.fromEntries(keys.map((key) => [key, state.get(key)])));
    let { section } = parsed(window.location.hash);
    let isWaiting = false;

    function write() {
      isWaiting = false;
      const hash = [section, ...written(runs, initial)].filter(Boolean).join("&");
      if (hash !== window.location.hash.replace(/^#/, "")) {
        window.history.replaceState(null, "", `#${hash}`);
      }
    }
    function writeSoon() {
      if (!isWaiting) {
        isWaiting = true;
        setTimeout(write, 0);
      }
    }
    function read() {
      const found = parsed(window.location.hash);
      runs.forEach((run) => apply(run, found.values, initial[run.index]));
      ({ section } = found);
      goTo(section);
    }

    read();
    runs.forEach((run) => run.state.on(keys, writeSoon));
    addEventListener("hashchange", () => {
      const found = parsed(window.location.hash);
      // A link within the page names a section alone, and changes nothing else.
      if (found.values.size === 0) {
        ({ section } = found);
        write();
      } else {
        read();
      }
    });
    return () => goTo(section);
  };
})();
