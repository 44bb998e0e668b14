// The scripts of the report are joined into one (src/haarbor/report/page.py) and share one name, Haarbor.
import js from "@eslint/js";

// The part of the browser that the page uses; a name that is not here is taken for a mistake.
const BROWSER = [
  "Blob",
  "DecompressionStream",
  "Element",
  "Event",
  "HTMLCanvasElement",
  "IntersectionObserver",
  "Node",
  "ResizeObserver",
  "Response",
  "SVGSVGElement",
  "TextDecoder",
  "TextEncoder",
  "URL",
  "XMLSerializer",
  "addEventListener",
  "atob",
  "document",
  "getComputedStyle",
  "getSelection",
  "matchMedia",
  "navigator",
  "performance",
  "requestAnimationFrame",
  "requestIdleCallback",
  "setTimeout",
  "window",
];
// Text of a run is never markup.
const MARKUP = [
  { property: "innerHTML" },
  { property: "outerHTML" },
  { property: "insertAdjacentHTML" },
  { property: "setHTMLUnsafe" },
  { property: "srcdoc" },
  { object: "document", property: "write" },
];

export default [
  js.configs.recommended,
  {
    rules: {
      curly: "error",
      eqeqeq: "error",
      "max-len": ["error", { code: 110, ignoreUrls: true }],
      "max-lines": ["error", 400],
      "no-multi-assign": "error",
      "no-nested-ternary": "error",
      "no-sequences": "error",
      "no-shadow": "error",
      "no-unused-expressions": "error",
      "no-use-before-define": ["error", { functions: false, variables: false }],
      "no-var": "error",
      "one-var": ["error", "never"],
      "prefer-const": "error",
    },
  },
  {
    files: ["src/haarbor/report/assets/**/*.js"],
    languageOptions: {
      sourceType: "script",
      globals: Object.fromEntries([...BROWSER, "Haarbor"].map((name) => [name, "readonly"])),
    },
    rules: {
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-restricted-properties": ["error", ...MARKUP],
    },
  },
  {
    files: ["src/haarbor/report/assets/drawing/elements.js"],
    rules: { "no-redeclare": "off", "no-unused-vars": ["error", { varsIgnorePattern: "^Haarbor$" }] },
  },
];
