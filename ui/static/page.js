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
  if (Math.abs(x) >= 1e6) return `${(x / 1e6).toFixed(2)} M`;
  return Number.isInteger(x) || Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : x.toFixed(x < 10 ? 2 : 1);
}

export function duration(seconds) {
  const s = Math.floor(seconds), pad = (x) => String(x).padStart(2, "0");
  return s < 3600 ? `${Math.floor(s / 60)}:${pad(s % 60)}` : `${Math.floor(s / 3600)}:${pad(Math.floor((s % 3600) / 60))}:${pad(s % 60)}`;
}

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
