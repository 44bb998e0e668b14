// Light and dark: the colours of the page as the drawings need them, and who wants to know of a change.
(() => {
  const COLOURS = ["ink", "pale", "line", "card", "closed", "accent", "mark", "second"];
  const root = document.documentElement;
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];

  /** The colours of the page by name, as they are now. */
  Haarbor.theme = () => {
    const style = getComputedStyle(root);
    return Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  };

  /** Calls `act` whenever the colours of the page change. */
  Haarbor.onTheme = (act) => listeners.push(act);

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark.matches;
  }

  // On paper the page is light, whatever it is on the screen.
  let onScreen = null;
  function show(theme) {
    if (theme) {
      root.dataset.theme = theme;
    } else {
      delete root.dataset.theme;
    }
    listeners.forEach((act) => act());
  }
  addEventListener("beforeprint", () => {
    onScreen = root.dataset.theme;
    if (isDark()) {
      show("light");
    }
  });
  addEventListener("afterprint", () => {
    if (onScreen !== root.dataset.theme) {
      show(onScreen);
    }
  });

  /** The button that switches between light and dark; until it is pressed the page follows the system. */
  Haarbor.themeButton = () => {
    const button = Haarbor.button("", () => change(isDark() ? "light" : "dark"), { id: "theme" });
    function name() {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
    }
    function change(theme) {
      show(theme);
      name();
    }
    systemIsDark.addEventListener("change", () => change(root.dataset.theme));
    name();
    return button;
  };
})();
