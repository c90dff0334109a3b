// What all parts of the page use: elements, numbers, the look of charts.
export const $ = (id) => document.getElementById(id);
const MINUTE = 60e3, DAY = 86400e3; // milliseconds between ticks from which seconds, then hours, say nothing new
const TICKS = [{ dtickrange: [null, MINUTE - 1], value: "%H:%M:%S" }, { dtickrange: [MINUTE, DAY - 1], value: "%H:%M" },
  { dtickrange: [DAY, null], value: "%b %-d" }];
export const COLOURS = ["#6d5df6", "#16a37b", "#e08a1e", "#d6456b", "#2a8fd0", "#8b6f47"];
export const DATES = { type: "date", nticks: 5, tickformatstops: TICKS };

export function number(x) {
  if (x === undefined || x === null) return "–";
  if (typeof x === "string") return x;
  if (!Number.isFinite(x)) return "–";
  if (Math.abs(x) >= 1e6) return `${(x / 1e6).toFixed(2)} M`;
  return Number.isInteger(x) || Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : x.toFixed(x < 10 ? 2 : 1);
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  const s = Math.floor(seconds), pad = (x) => String(x).padStart(2, "0");
  return s < 3600 ? `${Math.floor(s / 60)}:${pad(s % 60)}` : `${Math.floor(s / 3600)}:${pad(Math.floor((s % 3600) / 60))}:${pad(s % 60)}`;
}

// Characters that nobody sees, or that turn the direction of writing: the same as in common/output/visible.py.
const CONTROLS = String.raw`\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff`;
const UNSEEN = String.raw`\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0d`;
const UNSAFE = new RegExp(`[${CONTROLS}${UNSEEN}]|(?<![\\u2190-\\u2bff\\u{1f000}-\\u{1faff}])[\\ufe0e\\ufe0f]`, "gu");
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

// The text with such characters as escapes. `multiline` keeps line breaks and tabs.
export function visible(text, multiline = false) {
  return text.replaceAll("\r\n", multiline ? "\n" : "\r\n").replace(UNSAFE, (char) => {
    if (multiline && (char === "\n" || char === "\t")) return char;
    const code = char.codePointAt(0), hex = (size) => code.toString(16).padStart(size, "0");
    return SHORT[char] ?? (code < 0x100 ? `\\x${hex(2)}` : code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`);
  });
}

// A message of the monitor. Lean's text keeps its lines, and tracebacks theirs, indented.
export const received = (json) => JSON.parse(json, (key, value) => {
  if (typeof value !== "string") return value;
  return key === "exception" ? visible(value, true).replaceAll("\n", "\n    ") : visible(value, key === "lean");
});

// Do each of several steps. One that fails, because a message has a field that nobody expected, does not stop the others.
export function each(items, step) {
  for (const item of items) {
    try { step(item); } catch (error) { console.error("not shown:", error); }
  }
}

// Plotly reads some HTML in names and labels.
export const plain = (text) => String(text).replace(/[&<>]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[char]);

export function element(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

export function layout(x, yTitle, extra = {}) {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--quiet"), line = style.getPropertyValue("--line");
  const axis = { gridcolor: line, zerolinecolor: line, color: ink };
  return { margin: { l: 46, r: 8, t: 6, b: 34 }, paper_bgcolor: "transparent", plot_bgcolor: "transparent",
    font: { color: ink, size: 11 }, legend: { orientation: "h", y: 1.14 }, showlegend: true,
    xaxis: { ...axis, ...x }, yaxis: { ...axis, title: { text: yTitle }, rangemode: "tozero", ...extra } };
}
