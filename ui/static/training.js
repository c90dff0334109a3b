// Curves of training runs: a table of the runs, where those to be drawn are ticked, and charts over steps.
import { $, COLOURS, duration, element, layout, number, plain } from "./page.js";

const DRAWN_AT_FIRST = 3; // the latest runs
const CHARTS = { // title of the vertical axis, and series: [value, look]
  "train-loss": ["nats a token", [["loss", "train"], ["valid_loss", "valid"]]],
  "train-bits": ["", [["bits_per_byte", "train"], ["valid_bits_per_byte", "valid"]]],
  "train-accuracy": ["", [["token_accuracy", "train"], ["valid_token_accuracy", "valid"], ["valid_tactic_accuracy", "whole"]],
    { range: [0, 1], tickformat: ".0%" }],
  "train-value": ["steps", [["value_error", "train"], ["valid_value_error", "valid"]]],
  "train-speed": ["tokens a second", [["tokens_per_s", "train"]]],
  "train-gradient": ["", [["gradient_norm", "train"]]],
};
const LABELS = { loss: "loss", valid_loss: "held-out loss", bits_per_byte: "bits a byte", valid_bits_per_byte: "held-out bits a byte",
  token_accuracy: "tokens right", valid_token_accuracy: "held-out tokens right", valid_tactic_accuracy: "held-out tactics right",
  value_error: "value error", valid_value_error: "held-out value error", tokens_per_s: "tokens/s", gradient_norm: "gradient norm" };
const LOOKS = {
  train: { mode: "lines", opacity: 0.55, width: 1.2 },
  valid: { mode: "lines+markers", opacity: 1, width: 2.4 },
  whole: { mode: "lines+markers", opacity: 1, width: 2, dash: "dash" },
};

const runs = new Map(); // name -> run, as the monitor sends it
const ticked = new Map(); // name -> whether a person wants it drawn; others are drawn if they are among the latest
const colours = new Map();
let waiting = false;

// Take over what is new of some runs; `all`: these are all that there are.
export function showTraining(changes, all = false) {
  if (all) runs.clear();
  for (const change of changes) {
    const before = runs.get(change.name);
    const points = change.whole || !before ? change.points : before.points.concat(change.points);
    runs.set(change.name, { ...change, points });
    if (!colours.has(change.name)) colours.set(change.name, COLOURS[colours.size % COLOURS.length]);
  }
  if (waiting) return;
  waiting = true; // several runs may change at once: they are drawn once
  requestAnimationFrame(() => { waiting = false; draw(); });
}

const latest = () => [...runs.values()].sort((a, b) => b.started - a.started);
const isDrawn = (run, place) => ticked.get(run.name) ?? place < DRAWN_AT_FIRST;

function draw() {
  const found = latest(), shown = found.filter(isDrawn);
  $("training").hidden = found.length === 0;
  $("no-training").hidden = found.length > 0;
  if (found.length === 0) return;
  $("training-runs").tBodies[0].replaceChildren(...found.map((run, place) => row(run, isDrawn(run, place))));
  for (const [id, [title, series, extra]] of Object.entries(CHARTS)) {
    const traces = shown.flatMap((run) => series.map(([name, look]) => trace(run, name, LOOKS[look]))).filter((t) => t.x.length);
    const style = layout({ title: { text: "step", standoff: 4 }, nticks: 6, rangemode: "tozero" }, title, extra);
    $(id).parentElement.hidden = traces.length === 0; // a stage without values has no value error
    if (traces.length === 0) continue;
    Plotly.react(id, traces, { ...style, showlegend: false }, { displayModeBar: false, responsive: true });
  }
}

function trace(run, name, look) {
  const points = run.points.filter((point) => point.values[name] !== undefined);
  return { x: points.map((p) => p.step), y: points.map((p) => p.values[name]), mode: look.mode, opacity: look.opacity,
    name: `${plain(run.name)}: ${LABELS[name]}`, hovertemplate: "%{y:.4~g} at step %{x}<extra>%{fullData.name}</extra>",
    marker: { size: 5 }, line: { color: colours.get(run.name), width: look.width, dash: look.dash } };
}

function row(run, drawn) {
  const last = (name) => run.points.findLast((point) => point.values[name] !== undefined)?.values[name];
  const step = Math.max(0, ...run.points.map((point) => point.step)), seconds = last("step_s");
  const box = element("input"), label = element("label"), key = element("span", "key"), name = element("td"), line = element("tr");
  box.type = "checkbox";
  box.checked = drawn;
  box.addEventListener("change", () => { ticked.set(run.name, box.checked); draw(); });
  key.style.background = drawn ? colours.get(run.name) : "transparent";
  label.append(box, key, run.name);
  name.append(label);
  const share = last("valid_tactic_accuracy");
  const left = step >= run.steps ? "done" : seconds === undefined ? "–" : duration((run.steps - step) * seconds);
  const cells = [`${number(step)} of ${number(run.steps)}`, number(run.parameters), number(last("loss")), number(last("valid_loss")),
    number(last("valid_bits_per_byte")), share === undefined ? "–" : `${(100 * share).toFixed(1)} %`,
    number(last("valid_value_error")), number(last("tokens_per_s")), left];
  line.append(name, element("td", "", run.stage), ...cells.map((text) => element("td", "number", text)));
  line.title = `begun ${new Date(1000 * run.started).toLocaleString()}`;
  return line;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
