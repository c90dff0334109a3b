// Line charts, drawn by Chart.js, which is loaded when the first one is shown. Each has its numbers as a table, and words
// for those who do not see it. Lines differ by colour and by dashes.
import { h, fill } from "./dom.js";
import { clock, number, percent } from "./format.js";

const DASHES = [[], [6, 4], [2, 3], [10, 3, 2, 3], [], [6, 4], [2, 3], [10, 3, 2, 3]];
const MOST_ROWS = 200;

/** @type {Promise<void> | null} */
let loading = null;
function loaded() {
  loading ??= new Promise((resolve, reject) => {
    const script = h("script", { src: "/chart.js" });
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => reject(new Error("the charts' script did not load")));
    document.head.append(script);
  });
  return loading;
}

/** The value of a CSS variable. @param {string} name */
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
/** @param {number} colour */
export const colourOf = (colour) => css(`--c${colour % 8}`);

/** Leave out ticks beside the first and the last one, whose labels would lie over each other. @param {any} scale */
function spread(scale) {
  const ticks = /** @type {{value: number}[]} */ (scale.ticks), gap = (/** @type {number} */ at) => (ticks[at + 1]?.value ?? 0) - (ticks[at]?.value ?? 0);
  if (ticks.length > 3 && gap(ticks.length - 2) < 0.7 * gap(1)) ticks.splice(-2, 1);
  if (ticks.length > 3 && gap(0) < 0.7 * gap(1)) ticks.splice(1, 1);
}

// Beyond these, an axis looks for ticks for ever: there is no number between its ends, or no decimal place of its steps.
const LARGEST = { x: 1e13, y: 1e100 }, SMALLEST = 1e-100;

/** A line without what cannot be drawn: a value that is no measurement is a gap. @param {import("../types").Line} line */
function drawable(line) {
  const x = (/** @type {number} */ value) => Math.abs(value) <= LARGEST.x, y = (/** @type {number | null} */ value) => value !== null && Math.abs(value) <= LARGEST.y;
  const tiny = (/** @type {number} */ value) => (Math.abs(value) < SMALLEST ? 0 : value);
  return { ...line, points: line.points.filter(([at]) => x(at)).map(([at, value]) => /** @type {[number, number | null]} */ ([tiny(at), value !== null && y(value) ? tiny(value) : null])),
    band: line.band?.filter(([at, low, high]) => x(at) && y(low) && y(high)).map(([at, low, high]) => /** @type {[number, number, number]} */ ([tiny(at), tiny(low), tiny(high)])) };
}

/** @type {Set<() => void>} */
const charts = new Set();
addEventListener("theme", () => charts.forEach((draw) => draw()));

/**
 * A chart. `x`: "step" or another quantity, "time" (Unix) or "log"; `y`: its unit, a share if `share`.
 * @param {{title: string, x?: "number"|"time"|"log", xLabel?: string, yLabel?: string, share?: boolean, log?: boolean, zero?: boolean, bars?: boolean, empty?: string}} spec `bars`: stacked bars at equal distances in place of lines
 */
export function lineChart(spec) {
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img" }));
  const legend = h("div", { class: "chart-legend" });
  const nothing = h("p", { class: "quiet empty" }, spec.empty ?? "Nothing measured yet.");
  const rows = h("div", { class: "scroll", tabindex: "0" });
  const numbers = /** @type {HTMLDetailsElement} */ (h("details", null, h("summary", null, "Numbers"), rows));
  const box = h("div", { class: "chart", hidden: true }, canvas);
  const node = h("figure", { "aria-label": spec.title }, legend, box, nothing, numbers);
  numbers.addEventListener("toggle", () => numbers.open && showNumbers());
  const shownX = (/** @type {number} */ x) => (spec.x === "time" ? clock(x) : number(x));
  const shownY = (/** @type {number | null} */ y) => (spec.share ? percent(y) : number(y));
  /** @type {import("../types").Line[]} */
  let lines = [];
  /** @type {Set<string>} */
  const hidden = new Set();
  /** @type {any} */
  let chart = null;
  let text = "";

  function datasets() {
    return lines.flatMap((line, place) => {
      const colour = colourOf(line.colour ?? place), off = hidden.has(line.name);
      const own = { label: line.name, data: line.points.map(([x, y]) => ({ x, y })), borderColor: colour, backgroundColor: colour, hidden: off,
        borderWidth: 2, borderDash: line.dashed ? [6, 4] : DASHES[place % 8], pointRadius: line.dots || line.points.length < 2 ? 4 : 0, pointHitRadius: 6, spanGaps: false };
      if (spec.bars) return [{ ...own, borderWidth: 0, barPercentage: 1, categoryPercentage: 0.9 }];
      if (!line.band) return [own];
      const edge = { borderWidth: 0, pointRadius: 0, pointHitRadius: 0, hidden: off, backgroundColor: `${colour}2e`, band: true };
      return [own, { ...edge, label: "", data: line.band.map(([x, low]) => ({ x, y: low })), fill: false },
        { ...edge, label: "", data: line.band.map(([x, , high]) => ({ x, y: high })), fill: "-1" }];
    });
  }

  /** Whether no line has a value of x between two whole numbers: then the axis has none, either. */
  const whole = () => lines.every((line) => line.points.every(([x]) => Number.isInteger(x)));

  function scales() {
    const axis = (/** @type {string} */ title) => ({ title: { display: Boolean(title), text: title, color: css("--quiet") },
      grid: { color: css("--line") }, border: { color: css("--line") }, ticks: { color: css("--quiet"), maxTicksLimit: 8, maxRotation: 0, autoSkipPadding: 12 } });
    const x = axis(spec.xLabel ?? ""), y = axis(spec.yLabel ?? "");
    if (spec.bars) Object.assign(x, { stacked: true, offset: true }) && Object.assign(y, { stacked: true });
    return {
      x: { ...x, type: spec.x === "log" ? "logarithmic" : "linear", bounds: "data", afterBuildTicks: spread, ticks: { ...x.ticks, includeBounds: false, precision: whole() ? 0 : undefined, callback: (/** @type {number} */ v) => shownX(v) } },
      y: { ...y, type: spec.log ? "logarithmic" : "linear", beginAtZero: spec.zero ?? false, ...(spec.share ? { min: 0, suggestedMax: 0.1 } : {}),
        ticks: { ...y.ticks, callback: (/** @type {number} */ v) => shownY(v) } },
    };
  }

  async function draw() {
    const some = lines.some((line) => line.points.length > 0);
    box.hidden = !some;
    nothing.hidden = some;
    numbers.hidden = !some;
    if (!some) return;
    await loaded();
    if (!node.isConnected) return;
    if (chart) {
      chart.data.datasets = datasets();
      chart.options.scales = scales();
      chart.update("none");
      return;
    }
    chart = new Chart(canvas, {
      type: spec.bars ? "bar" : "line",
      data: { datasets: datasets() },
      options: { animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: false, scales: scales(),
        interaction: { mode: "nearest", axis: "x", intersect: false },
        plugins: { legend: { display: false }, tooltip: { filter: (/** @type {any} */ item) => !item.dataset.band,
          callbacks: { title: (/** @type {any[]} */ items) => (items[0] ? `${spec.xLabel ?? ""} ${shownX(items[0].parsed.x)}`.trim() : ""),
            label: (/** @type {any} */ item) => `${item.dataset.label}: ${shownY(item.parsed.y)}` } } } },
    });
  }

  function showLegend() {
    fill(legend, lines.length < 2 ? null : lines.map((line, place) => h("button", { class: "key", "aria-pressed": String(!hidden.has(line.name)),
      title: "Show or hide this line", on: { click: () => {
        if (!hidden.delete(line.name)) hidden.add(line.name);
        showLegend();
        void draw();
      } } }, h("span", { class: `swatch line c${(line.colour ?? place) % 8} ${line.dashed || DASHES[place % 8]?.length ? "dashed" : ""}` }), line.name)));
  }

  function showNumbers() {
    const all = lines.flatMap((line) => line.points.map(([x, y]) => /** @type {const} */ ([line.name, x, y])));
    const every = Math.ceil(all.length / MOST_ROWS);
    fill(rows, h("table", null, h("caption", { class: "unseen" }, `Numbers of ${spec.title}`),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "line"), h("th", { class: "number", scope: "col" }, spec.xLabel ?? "x"), h("th", { class: "number", scope: "col" }, spec.yLabel ?? "value"))),
      h("tbody", null, all.filter((_, place) => place % every === 0 || place === all.length - 1).map(([name, x, y]) =>
        h("tr", null, h("td", null, name), h("td", { class: "number" }, shownX(x)), h("td", { class: "number" }, shownY(y)))))));
  }

  function words() {
    const each = lines.filter((line) => line.points.length).map((line) => {
      const [first, last] = [line.points[0], line.points[line.points.length - 1]];
      return `${line.name}: ${shownY(first?.[1] ?? null)} to ${shownY(last?.[1] ?? null)} over ${line.points.length} points`;
    });
    return `${spec.title}. ${each.join("; ") || "nothing measured yet"}`;
  }

  const redraw = () => void draw();
  return {
    node,
    /** Show these lines. @param {import("../types").Line[]} next */
    set(next) {
      charts.add(redraw);
      const now = JSON.stringify(next);
      if (now === text && chart) return;
      [lines, text] = [next.map(drawable), now];
      canvas.setAttribute("aria-label", words());
      showLegend();
      if (numbers.open) showNumbers();
      void draw();
    },
    close() {
      charts.delete(redraw);
      chart?.destroy();
      chart = null;
    },
  };
}
