// What is chosen in a run, and who wants to know: this is what links the views.
(() => {
  function areSame(a, b) {
    if (Array.isArray(a) && Array.isArray(b)) {
      return a.length === b.length && a.every((value, i) => value === b[i]);
    }
    return a === b;
  }

  Haarbor.createState = (initial) => {
    const values = { ...initial };
    const listeners = [];
    return {
      get: (key) => values[key],
      set(changes) {
        const changed = Object.keys(changes).filter((key) => !areSame(values[key], changes[key]));
        if (!changed.length) {
          return;
        }
        changed.forEach((key) => {
          values[key] = changes[key];
        });
        for (const { keys, act } of listeners) {
          if (changed.some((key) => keys.includes(key))) {
            act(values);
          }
        }
      },
      /** Calls `act(values)` at once and whenever one of `keys` changes. */
      on(keys, act) {
        listeners.push({ keys, act });
        act(values);
      },
    };
  };
})();
