// The first token, on which many heads rest when they have nothing to look at: shown, or left out.
(() => {
  const CHOICES = [
    ["shown", "shown"],
    ["hidden", "hidden"],
    ["rescaled", "hidden, rows rescaled"],
  ];
  const WORDS = {
    shown: "",
    hidden: "The first token is hidden; the other weights are as they were, so that rows sum to less than 1.",
    rescaled: "The first token is hidden, and what is left of every row is scaled up to sum to 1.",
  };

  /** Whether the first token of a run can be left out: probabilities, each entry by itself. */
  function canHide(run) {
    return run.data.content === "probabilities" && run.data.shown.every(({ block }) => block === 1);
  }

  /** Rows of a matrix without their entries in a column; scaled up again to sum to 1, if wished for. */
  function withoutColumn(values, columns, column, isRescaled) {
    const found = Float32Array.from(values);
    for (let start = 0; start < found.length; start += columns) {
      found[start + column] = 0;
      const left = Haarbor.sum(found.subarray(start, start + columns));
      for (let i = start; isRescaled && left > 0 && i < start + columns; i++) {
        found[i] /= left;
      }
    }
    return found;
  }

  /** The matrix of a head as `Haarbor.headMatrix` gives it, without the first token where it is hidden. */
  Haarbor.shownMatrix = async (run, place, head) => {
    const found = await Haarbor.headMatrix(run, place, head);
    const choice = run.state.get("firstToken");
    if (choice === "shown") {
      return found;
    }
    const { orders, quantisation } = run.data.shown[place];
    const isRescaled = choice === "rescaled";
    const organised = withoutColumn(found.organised, found.columns, orders.key.indexOf(0), isRescaled);
    return {
      ...found,
      values: withoutColumn(found.values, found.columns, 0, isRescaled),
      organised,
      ...Haarbor.endsOf(organised, quantisation.power),
    };
  };

  /** A mask, in which entries of the first token are closed where it is hidden; null if all are open. */
  Haarbor.withFirstToken = (run, mask, rows, columns, column) => {
    if (run.state.get("firstToken") === "shown") {
      return mask;
    }
    const found = mask ? Uint8Array.from(mask) : new Uint8Array(rows * columns).fill(1);
    for (let i = column; i < found.length; i += columns) {
      found[i] = 0;
    }
    return found;
  };

  /** What is said where the first token is hidden; empty where it is shown. */
  Haarbor.firstTokenWords = (run) => WORDS[run.state.get("firstToken")];

  Haarbor.FIRST_TOKEN = CHOICES.map(([value]) => value);

  /** The switch; null where the run has nothing that could be hidden. */
  Haarbor.firstTokenSelect = (run) =>
    canHide(run) ? Haarbor.stateSelect(run.state, "firstToken", "First token", CHOICES) : null;
})();
