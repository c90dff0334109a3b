// The solve rate of training and of evaluations, as a chart over time and a table.
import { $, COLOURS, DATES, element, layout, number, plain } from "./page.js";

const SYMBOLS = ["circle", "diamond", "square", "triangle-up"];
const RATES = 4000; // points kept of a curve, as the monitor keeps them
let rates = []; // points of the run with the solve rate of its train attempts
let evaluations = []; // as the monitor sends them
let waiting = false;

const percent = (share) => (share === undefined || share === null ? "–" : `${(100 * share).toFixed(1)} %`);
const known = (x) => x !== undefined && x !== null;

export function showEvaluations(history) {
  rates = history.points.filter((point) => point.values.solve_rate !== undefined);
  evaluations = history.evaluations;
  redraw();
}

export function addSolveRate(point) {
  if (point.values.solve_rate === undefined) return;
  rates.push(point);
  if (rates.length > RATES) rates.shift();
  redraw();
}

export function addEvaluation(evaluation) {
  evaluations.push(evaluation);
  evaluations.sort((a, b) => a.time - b.time);
  redraw();
}

function redraw() {
  if (waiting) return;
  waiting = true; // several may come at once: they are drawn once
  requestAnimationFrame(() => { waiting = false; draw(); });
}

// Only evaluations of as many statements, with as many simulations, can be compared: a line joins those.
function groups() {
  const found = new Map();
  for (const each of evaluations) {
    const name = known(each.statements) ? `${each.statements} statements · ${each.simulations}` : "test statements";
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(each);
  }
  const budgets = new Set(evaluations.map((each) => each.simulations).filter(known));
  return [...found].map(([name, group]) => [budgets.size > 1 ? name : name.split(" · ")[0], group]);
}

function draw() {
  table();
  const chart = $("chart-solve");
  if (rates.length + evaluations.length === 0) {
    Plotly.purge(chart);
    chart.replaceChildren(element("p", "quiet empty", "Nothing measured yet."));
    return;
  }
  chart.querySelector(".empty")?.remove();
  const traces = [{ x: rates.map(date), y: rates.map((p) => p.values.solve_rate), name: "train attempts", mode: "lines",
    opacity: 0.7, line: { color: COLOURS[0], width: 1.5 }, hovertemplate: "%{y:.1%}<extra>train attempts</extra>" }];
  // What the gate measures before it lets weights act: how often the samples contain the right tactic.
  const gate = rates.filter((point) => point.values.held_out !== undefined);
  traces.push({ x: gate.map(date), y: gate.map((p) => p.values.held_out), name: "held-out tactics sampled", mode: "lines",
    line: { color: COLOURS[0], width: 1.5, dash: "dot" }, hovertemplate: "%{y:.1%}<extra>held-out tactics sampled</extra>" });
  groups().forEach(([name, group], i) => traces.push({ x: group.map(date), y: group.map((e) => e.rate), name, mode: "lines+markers",
    marker: { size: 8, symbol: SYMBOLS[i % SYMBOLS.length] }, line: { color: COLOURS[1 + (i % (COLOURS.length - 1))], width: 2 },
    text: group.map(told), hovertemplate: "%{text}<extra></extra>" }));
  Plotly.react(chart, traces.filter((trace) => trace.x.length), layout(DATES, "", { range: [0, 1], tickformat: ".0%" }),
    { displayModeBar: false, responsive: true });
}

const date = (each) => new Date(1000 * each.time);

function told(each) {
  const counts = known(each.statements) ? `${each.solved} of ${each.statements} statements solved, ` : "";
  const undecided = each.undecided ? `<br>${each.undecided} undecided` : "";
  const budget = known(each.simulations) ? `<br>${each.simulations} simulations` : "";
  return `${counts}${percent(each.rate)}${undecided}${budget}<br>step ${number(each.step)}${each.label ? `, ${plain(each.label)}` : ""}`;
}

function table() {
  $("evaluations-card").hidden = evaluations.length === 0;
  $("evaluations").tBodies[0].replaceChildren(...[...evaluations].reverse().map((each) => {
    const line = element("tr");
    const solved = known(each.statements) ? `${each.solved} of ${each.statements}` : "–";
    const kind = each.beside ? "beside learning" : each.label.replaceAll("-", " ") || "before or after learning";
    const cells = [number(each.step), solved, percent(each.rate), number(each.undecided), number(each.simulations)];
    line.append(element("td", "", kind), ...cells.map((text) => element("td", "number", text)),
      element("td", "number", date(each).toLocaleString()));
    return line;
  }));
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
