// What the words of the page mean: every score, and what the pictures are made of.
(() => {
  const { el } = Haarbor;
  const WORDS = [
    [
      "Head",
      "A part of a layer that lets every token look at others. Written layer.head, both counted from 0.",
    ],
    ["Attention", "How much each token (query, a row) looks at each other (key, a column). A row sums to 1."],
    ["Logits", "The raw scores from which the softmax makes the weights of attention."],
    ["Batch", "One input that the network was shown: a text, or a picture."],
    [
      "Organised order",
      "Tokens beside those that are treated alike, so that the pattern of a matrix can be seen.",
    ],
    [
      "Tree and folders",
      "Heads, or tokens, in groups: each level splits the folders above it into more alike ones.",
    ],
    [
      "Tree distance",
      "How differently two heads attend, at all levels of the trees of the tokens; 0 is the same.",
    ],
    ["Affinity", "How alike two heads attend: the larger, the more alike."],
    ["Diffusion map", "A map on which heads that attend alike lie near each other."],
    ["Haar functions", "Building blocks of a matrix, from broad (large areas) to fine (single entries)."],
    [
      "First token",
      "Where many heads look when they have nothing to look for; it can be hidden to see the rest.",
    ],
    ["Kendall's tau", "How far two rankings agree: 1 is the same order, 0 no relation, \u22121 the reverse."],
    ["Softmax", "What turns raw scores into weights that sum to 1, and makes large scores stand out."],
  ];

  function entry(name, ...texts) {
    return el(
      "div",
      {},
      el("dt", {}, name),
      texts.filter(Boolean).map((text) => el("dd", {}, text)),
    );
  }

  function scoreEntry({ label, plain, meaning, low, high }) {
    const ends = el("span", { class: "pale" }, `Low: ${low}. High: ${high}. `);
    return entry(label, plain, el("span", { class: "pale" }, `Exactly: ${meaning} `, ends));
  }

  function card(title, entries) {
    return el("div", { class: "card" }, el("h3", {}, title), el("dl", { class: "glossary" }, entries));
  }

  Haarbor.glossary = (runs, host) => {
    const scores = new Map(runs.flatMap(({ data }) => data.scores.map((score) => [score.name, score])));
    const groups = Haarbor.scoreGroups([...scores.values()]);
    const cards = groups.map(([group, found]) => card(group, found.map(scoreEntry)));
    host.append(
      el(
        "div",
        { class: "columns" },
        cards,
        card(
          "Words",
          WORDS.map(([word, text]) => entry(word, text)),
        ),
      ),
    );
  };
})();
