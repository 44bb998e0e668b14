// Charts by plotly, whose script waits packed in the page until the rest stands.
(() => {
  let loading = null;
  Haarbor.plotly = () => {
    loading = loading || (async () => {
      const text = new TextDecoder().decode(await Haarbor.unpack("plotly-source"));
      document.head.append(Haarbor.el("script", {}, text));
      return window.Plotly;
    })();
    return loading;
  };
  // Plotly reads tags such as <b> and <a> in its texts: names from a run must not have any.
  Haarbor.chartText = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const charts = [];
  const queue = [];
  let running = false;
  const idle = () => new Promise((done) => (window.requestIdleCallback ? requestIdleCallback(done, { timeout: 100 }) : setTimeout(done, 0)));
  const work = async () => {
    if (running) return;
    running = true;
    while (queue.length) {
      await idle();
      await queue.shift()();
    }
    running = false;
    if (charts.length && charts.every((chart) => chart.drawn())) document.documentElement.dataset.drawn = document.documentElement.dataset.drawn || performance.now().toFixed(0);
  };
  // Plotly takes a while to start, so charts wait until one is near, or until the page has been quiet.
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) { seen.unobserve(entry.target); entry.target.dispatchEvent(new Event("near")); }
  }), { rootMargin: "500px" });
  Haarbor.drawWaiting = () => charts.forEach((chart) => chart.wake());
  // Until the rest of the page stands, no chart takes its time.
  let allowed = false;
  Haarbor.allowCharts = () => { allowed = true; work(); };
  Haarbor.theme = () => ({
    ink: Haarbor.css("--ink"), pale: Haarbor.css("--pale"), line: Haarbor.css("--line"), card: Haarbor.css("--card"),
    accent: Haarbor.css("--accent"), mark: Haarbor.css("--mark"), second: Haarbor.css("--second"),
  });
  const base = (theme) => {
    const axis = { gridcolor: theme.line, zerolinecolor: theme.line, linecolor: theme.line, tickcolor: theme.line, automargin: true, title: { standoff: 8, font: { size: 12 } } };
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: theme.ink, family: "system-ui, sans-serif", size: 12 },
      margin: { l: 46, r: 12, t: 10, b: 40 }, showlegend: false, hovermode: "closest", dragmode: false,
      hoverlabel: { bgcolor: theme.card, bordercolor: theme.line, font: { color: theme.ink } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: theme.pale, activecolor: theme.accent },
      xaxis: axis, yaxis: axis,
    };
  };
  const merged = (one, two) => {
    const found = { ...one };
    for (const [key, value] of Object.entries(two || {}))
      found[key] = value && typeof value === "object" && !Array.isArray(value) && found[key] && typeof found[key] === "object" ? merged(found[key], value) : value;
    return found;
  };
  // Draws `describe(theme)` = { traces, layout, config } now and again whenever the colours of the page change.
  Haarbor.chart = (node, describe, ready) => {
    node.classList.add("chart");
    let drawn = false;
    const draw = async () => {
      const Plotly = await Haarbor.plotly();
      const theme = Haarbor.theme(), { traces, layout, config } = describe(theme);
      const width = Math.max(160, Math.floor(node.clientWidth));
      await Plotly.react(node, traces, merged(base(theme), { width, ...layout }), { displaylogo: false, displayModeBar: false, responsive: false, ...config });
      if (!drawn) { drawn = true; ready && ready(Plotly, node); Haarbor.onWidth(node, (now) => Plotly.relayout(node, { width: now })); }
    };
    let awake = false;
    const chart = {
      drawn: () => drawn,
      redraw() { if (awake && !queue.includes(draw)) { queue.push(draw); if (allowed) work(); } },
      wake() { if (!awake) { awake = true; chart.redraw(); } },
    };
    charts.push(chart);
    node.addEventListener("near", chart.wake);
    seen.observe(node);
    return chart;
  };
  Haarbor.redrawCharts = () => charts.forEach((chart) => chart.redraw());
})();
