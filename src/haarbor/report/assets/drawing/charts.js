// Charts by plotly, whose script waits packed in the page until the rest stands.
(() => {
  const CLEAR = "rgba(0,0,0,0)";
  const { between } = Haarbor;
  const LEAST_WIDTH = 160;
  // Of a sheet of A4 between its margins, in CSS pixels.
  const PAPER_WIDTH = 650;
  const root = document.documentElement;
  const charts = [];
  const queue = [];
  let loading = null;
  let isWorking = false;
  let isAllowed = false;
  let mostWidth = Infinity;

  async function loadPlotly() {
    const text = new TextDecoder().decode(await Haarbor.unpack("plotly-source"));
    document.head.append(Haarbor.el("script", {}, text));
    return window.Plotly;
  }

  function plotly() {
    loading = loading || loadPlotly();
    return loading;
  }

  /** Text for a chart. Plotly reads tags such as <b> in its texts: names from a run must not have any. */
  Haarbor.chartText = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function idle() {
    return new Promise((done) => {
      if (window.requestIdleCallback) {
        requestIdleCallback(done, { timeout: 100 });
      } else {
        setTimeout(done, 0);
      }
    });
  }

  /** Draws the charts that wait, one after the other, whenever the page has nothing else to do. */
  async function work() {
    if (isWorking) {
      return;
    }
    isWorking = true;
    while (queue.length) {
      await idle();
      await queue.shift()();
    }
    isWorking = false;
    if (charts.length && charts.every((chart) => chart.isDrawn())) {
      root.dataset.drawn = root.dataset.drawn || performance.now().toFixed(0);
    }
  }

  const waiting = [];

  // Plotly takes a while to start, so charts wait until one is near, or until the page has been quiet.
  const nearness = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((found) => found.isIntersecting)) {
        nearness.unobserve(entry.target);
        entry.target.dispatchEvent(new Event("near"));
      }
    },
    { rootMargin: "500px" },
  );

  /** Calls `act` once, when an element is near what is seen, or when the page has been quiet. */
  Haarbor.whenNear = (node, act) => {
    let isDone = false;
    const once = () => {
      if (!isDone) {
        isDone = true;
        act();
      }
    };
    waiting.push(once);
    node.addEventListener("near", once);
    nearness.observe(node);
  };

  Haarbor.drawWaiting = () => waiting.forEach((wake) => wake());

  /** Until this is called, when the rest of the page stands, no chart takes its time. */
  Haarbor.allowCharts = () => {
    isAllowed = true;
    work();
  };

  function commonLayout(theme) {
    const axis = {
      gridcolor: theme.line,
      zerolinecolor: theme.line,
      linecolor: theme.line,
      tickcolor: theme.line,
      automargin: true,
      title: { standoff: 8, font: { size: 12 } },
    };
    return {
      paper_bgcolor: CLEAR,
      plot_bgcolor: CLEAR,
      font: { color: theme.ink, family: "system-ui, sans-serif", size: 12 },
      margin: { l: 46, r: 12, t: 10, b: 40 },
      showlegend: false,
      hovermode: "closest",
      dragmode: false,
      hoverlabel: { bgcolor: theme.card, bordercolor: theme.line, font: { color: theme.ink } },
      modebar: { bgcolor: CLEAR, color: theme.pale, activecolor: theme.accent },
      xaxis: axis,
      yaxis: axis,
    };
  }

  Haarbor.colourBar = (theme, title) => ({
    ...(title ? { title: { text: title } } : {}),
    thickness: 10,
    outlinewidth: 0,
    tickfont: { color: theme.pale },
  });

  function isPlainObject(value) {
    return Boolean(value) && typeof value === "object" && !Array.isArray(value);
  }

  /** `one` with what `two` says otherwise, down to the innermost objects. */
  function merged(one, two) {
    const found = { ...one };
    for (const [name, value] of Object.entries(two || {})) {
      const isDeeper = isPlainObject(value) && isPlainObject(found[name]);
      found[name] = isDeeper ? merged(found[name], value) : value;
    }
    return found;
  }

  /**
   * Draws `describe(theme)` = { traces, layout } into an element, and again whenever it is told to, and
   * whenever the width of the element or the colours of the page change. `ready(node)` is called once.
   * The element has its `height` from the beginning, so that nothing moves when the chart comes.
   */
  Haarbor.chart = (node, height, describe, ready = () => {}) => {
    let isAwake = false;
    let isDrawn = false;

    function drawIn(Plotly) {
      const theme = Haarbor.theme();
      const { traces, layout } = describe(theme);
      const width = between(Math.floor(node.clientWidth), LEAST_WIDTH, mostWidth);
      return Plotly.react(node, traces, merged(commonLayout(theme), { width, height, ...layout }), {
        displaylogo: false,
        displayModeBar: false,
        responsive: false,
      });
    }

    async function draw() {
      const Plotly = await plotly();
      await drawIn(Plotly);
      if (!isDrawn) {
        isDrawn = true;
        ready(node);
        Haarbor.onWidth(node, (now) => Plotly.relayout(node, { width: Math.min(now, mostWidth) }));
      }
    }

    const chart = {
      isDrawn: () => isDrawn,
      drawAtOnce() {
        if (isDrawn) {
          drawIn(window.Plotly);
        }
      },
      redraw() {
        if (!isAwake || queue.includes(draw)) {
          return;
        }
        queue.push(draw);
        if (isAllowed) {
          work();
        }
      },
      wake() {
        if (!isAwake) {
          isAwake = true;
          chart.redraw();
        }
      },
    };
    charts.push(chart);
    node.classList.add("chart");
    node.style.minHeight = `${height}px`;
    Haarbor.whenNear(node, chart.wake);
    return chart;
  };

  /** For `ready`: the head that `headOf` finds at a point of a chart is chosen and pointed at with it. */
  Haarbor.linkedToHeads = (run, headOf) => (node) => {
    node.on("plotly_click", (event) => run.choose(headOf(event.points[0])));
    node.on("plotly_hover", (event) => run.state.set({ hovered: headOf(event.points[0]) }));
    node.on("plotly_unhover", () => run.state.set({ hovered: null }));
  };

  // A page that is about to be printed does not wait for anything.
  addEventListener("beforeprint", () => {
    mostWidth = PAPER_WIDTH;
    charts.forEach((chart) => chart.drawAtOnce());
  });
  addEventListener("afterprint", () => {
    mostWidth = Infinity;
    charts.forEach((chart) => chart.redraw());
  });
  Haarbor.onTheme(() => charts.forEach((chart) => chart.redraw()));
})();
