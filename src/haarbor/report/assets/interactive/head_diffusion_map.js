// The diffusion map of the heads: near points are heads that attend alike.
(() => {
  const { el } = Haarbor;

  Haarbor.diffusionMap = (run, side) => {
    const dimensions = run.data.geometry.coordinates[0].length;
    if (dimensions === 0) {
      return;
    }
    const host = el("div", { class: "cloud" });
    const cloud = Haarbor.pointCloud(run, host);
    const flatOrSpace = [
      ["2", "2-D"],
      ["3", "3-D"],
    ];
    const controls = Haarbor.controls(
      dimensions > 2
        ? Haarbor.choice("Dimensions", flatOrSpace, "2", (value) => cloud.setSpace(value === "3"))
        : null,
      el(
        "span",
        { class: "zoom-group" },
        Haarbor.button("+", () => cloud.zoomBy(1.4), { "aria-label": "Zoom in" }),
        Haarbor.button("\u2212", () => cloud.zoomBy(1 / 1.4), { "aria-label": "Zoom out" }),
        Haarbor.button("\u2922", cloud.reset, { "aria-label": "Show all" }),
      ),
      Haarbor.tableButton(run, "heads"),
    );
    const note = "Near points are heads that attend alike, in the colours of the score.";
    side.append(Haarbor.figure(run.id("diffusion-map"), "Diffusion map", note, controls, host));
  };
})();
