// Where the heads lie (analysis/_head_geometry.py): affinity, distances, and the folders of their tree.
(() => {
  Haarbor.headAffinity = async (run) =>
    Haarbor.restored(await run.blob("geometry-affinity"), run.nHeads, run.nHeads, 1);

  Haarbor.headDistances = async (run) => new Float32Array(await run.blob("geometry-distances"));

  /**
   * Folders of the head tree, from the root down, children in leaf order.
   *
   * A folder that is the same on several levels stands here once, with the `first` and the `last` of them.
   * One that stands for a chain, from which parts come off one after another, has more than one of `steps`.
   */
  Haarbor.headFolders = (run) => {
    const { levels, order, chains } = run.data.geometry;
    const chainSteps = new Map(chains.map(([level, number, steps]) => [`${level} ${number}`, steps]));
    const folderAt = (level, place) => levels[level][order[place]];

    /** Whether the heads at the places from `begin` to before `end` are in different folders of a level. */
    function isSplit(level, begin, end) {
      for (let place = begin + 1; place < end; place++) {
        if (folderAt(level, place) !== folderAt(level, begin)) {
          return true;
        }
      }
      return false;
    }

    function folder(first, begin, end, parent) {
      let last = first;
      while (last + 1 < levels.length && !isSplit(last + 1, begin, end)) {
        last++;
      }
      const heads = order.slice(begin, end);
      const steps = chainSteps.get(`${last} ${folderAt(last, begin)}`) || 1;
      const found = { first, last, heads, parent, steps, children: [], collapsed: false };
      if (last + 1 < levels.length) {
        found.children = parts(last + 1, begin, end, found);
      }
      return found;
    }

    function parts(level, begin, end, parent) {
      const found = [];
      let start = begin;
      for (let place = begin + 1; place <= end; place++) {
        if (place === end || folderAt(level, place) !== folderAt(level, start)) {
          found.push(folder(level, start, place, parent));
          start = place;
        }
      }
      return found;
    }

    return folder(0, 0, order.length, null);
  };

  Haarbor.addGeometryTables = (run) => {
    const { levels } = run.data.geometry;
    Haarbor.addTable(run, {
      name: "head-distances",
      title: "Tree distances of every two heads, means over batches",
      columns: ["layer", "head", ...run.names],
      rows: async () => {
        const distances = await Haarbor.headDistances(run);
        return run.names.map((_, head) => {
          const row = distances.subarray(head * run.nHeads, (head + 1) * run.nHeads);
          const numbers = Array.from(row, (value) => Number(value.toPrecision(7)));
          return [run.layerOf(head), run.numberInLayer(head), ...numbers];
        });
      },
    });
    Haarbor.addTable(run, {
      name: "head-tree",
      title: "Head tree: the folder of every head at every level",
      columns: ["layer", "head", ...levels.map((_, level) => `level_${level}`)],
      rows: () =>
        run.names.map((_, head) => [
          run.layerOf(head),
          run.numberInLayer(head),
          ...levels.map((folders) => folders[head]),
        ]),
    });
  };
})();
