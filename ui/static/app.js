// The monitor's page: listens to /events and draws. All text is set with textContent, so nothing a model writes is markup.
import { $, COLOURS, DATES, duration, each, element, layout, number, received, visible } from "./page.js";
import { addEvaluation, addSolveRate, showEvaluations } from "./evaluations.js";
import { showSummary } from "./summary.js";
import { showTraining } from "./training.js";

const LEVELS = { debug: 0, info: 1, warning: 2, error: 3, critical: 3 };
const LOG_LINES = 400;
const PROOFS = 60;
const LAG_SHOWN = 50; // milliseconds of event-loop lag from which a person should see it

// What the counter tiles show: [label, where it is (role.name in totals, or a function of the overview), class].
const COUNTERS = [
  ["proofs verified", "learner.proofs_verified", "good"],
  ["roots solved by provers", "prover.roots_solved"],
  ["rejected by Lean", "lean-proxy.proofs_rejected"],
  ["attempts", "prover.attempts"],
  ["transitions", "learner.transitions"],
  ["training steps", "learner.train_steps"],
  ["expansions / s", (o) => o.rates["prover.expansions"]],
  ["tactics tried by Lean / s", (o) => o.rates["lean-proxy.candidates"]],
  ["time paused", (o) => percent(gauge(o, "learner", "pause_fraction"))],
];
// What became of tactics: [kind, how it is called]; the rows are the two places where it is counted.
const OUTCOMES = [["proved", "proved"], ["goals", "goals left"], ["error", "tactic error"], ["refused", "refused"],
  ["timeout", "timeout"], ["memory", "memory"], ["crashed", "crashed"], ["lost", "lost worker"]];
const OUTCOME_ROWS = [["lean-proxy", "answered by lean-proxies"], ["prover", "seen by searches"]];
const CHARTS = {
  "chart-loss": [["loss", "train"], ["valid_loss", "valid"], ["value_loss", "value"]],
};
const SPEEDS = [["prover.expansions", "expansions"], ["inference.states", "states"], ["lean-proxy.candidates", "candidates"]];
const LAYOUTS = { // title and options of the vertical axis
  "chart-loss": ["nats per token"],
  "chart-speed": ["per second"],
};

const gauge = (overview, role, name) => overview.nodes.find((n) => n.role === role && name in n.values)?.values[name];
const percent = (x) => (!Number.isFinite(x) ? "–" : `${(100 * x).toFixed(1)} %`);

// --- overview: counters and nodes, once a second --------------------------------------------------------------------
function showOverview(overview) {
  each([showCounters, () => showOutcomes(overview.totals), showNodes, showPhase, showLink], (show) => show(overview));
  if (overview.speed) addSpeed(overview.speed);
}

function showCounters(overview) {
  $("counters").replaceChildren(...COUNTERS.map(([label, source, className]) => {
    const value = typeof source === "function" ? source(overview) : overview.totals[source];
    const tile = element("div", `counter ${className ?? ""}`);
    tile.append(element("b", "", number(value)), element("span", "", label));
    return tile;
  }));
}

function showNodes(overview) {
  const alive = overview.nodes.filter((n) => n.state !== "gone").length;
  $("node-count").textContent = `${alive} alive`;
  $("why").textContent = visible(overview.why ?? "");
  const rows = [];
  each(overview.nodes, (node) => rows.push(nodeRow(node)));
  $("nodes").tBodies[0].replaceChildren(...rows);
}

function showPhase(overview) {
  const learner = overview.nodes.find((n) => n.role === "learner" && n.state !== "gone");
  $("phase").textContent = learner?.state ?? "";
  const left = learner?.values.budget_left_s;
  $("budget").textContent = left > 0 ? `${duration(left)} left in this phase` : "";
}

function showOutcomes(totals) {
  const table = $("outcomes"), head = element("tr");
  head.append(element("th"), ...OUTCOMES.map(([, label]) => element("th", "number", label)));
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(...OUTCOME_ROWS.map(([role, label]) => {
    const row = element("tr");
    row.append(element("td", "", label));
    for (const [kind] of OUTCOMES) row.append(element("td", "number", number(totals[`${role}.outcome_${kind}`])));
    return row;
  }));
}

function nodeRow(node) {
  const row = element("tr", node.state === "gone" ? "gone" : "");
  const values = element("td", "values");
  for (const [part, problem] of Object.entries(node.problems)) {
    values.append(element("div", "bad", visible(`${part}: ${problem}`)));
  }
  for (const offender of node.offenders) values.append(element("div", "bad", visible(`misbehaves: ${offender}`)));
  for (const [name, value] of Object.entries(node.values)) {
    if (name === "loop_lag_ms" && value < LAG_SHOWN) continue;
    if (name.startsWith("outcome_") || name.startsWith("lately_")) continue; // in the table of outcomes, in words above
    const pair = element("span", "", `${visible(name).replaceAll("_", " ")} `);
    pair.append(element("b", "", number(value)));
    values.append(pair, " ");
  }
  row.append(element("td", "", node.role), element("td", `dot ${node.state}`, node.state),
    element("td", "", `${node.host} : ${node.pid}`), element("td", "number", duration(node.uptime)), values);
  row.title = `${node.id}, version ${node.version}, last heard ${number(node.silent)} s ago`;
  return row;
}

function showLink(overview) {
  const files = overview.files;
  if (overview.broker === false) setLink("broker unreachable", "bad");
  else if (files) setLink(files.problem || (files.finished ? "finished run, from its files" : "run, from its files"), files.problem ? "bad" : "");
  else setLink("live", "good");
  $("link").title = files?.folder ?? "";
}

function setLink(text, className) {
  $("link").textContent = text;
  $("link").className = `chip ${className}`;
}

// --- curves ---------------------------------------------------------------------------------------------------------
const drawn = new Set();
const timed = (id) => layout(DATES, ...LAYOUTS[id]);

function newChart(id, names) {
  const traces = names.map(([, label], i) => ({ x: [], y: [], name: label, mode: "lines+markers",
    marker: { size: 4 }, line: { color: COLOURS[i], width: 2 } }));
  $(id).replaceChildren();
  Plotly.newPlot(id, traces, timed(id), { displayModeBar: false, responsive: true });
  drawn.add(id);
}

function drawCharts(history) {
  for (const id of Object.keys(LAYOUTS)) {
    if (drawn.delete(id)) Plotly.purge(id);
    $(id).replaceChildren(element("p", "quiet empty", "Nothing measured yet."));
  }
  for (const [id, names] of Object.entries(CHARTS)) extend(id, names, history.points.map((p) => [p.time, p.values]));
  const speeds = history.files ? history.points.filter(hasSpeed).map(speedOf) : history.speeds;
  extend("chart-speed", SPEEDS, speeds.map((s) => [s.time, s]));
  showEvaluations(history);
}

// A chart is drawn when it has something to show: before, its axis of time would have no time.
function extend(id, names, rows) {
  names.forEach(([name], trace) => {
    const known = rows.filter(([, values]) => values[name] !== undefined);
    if (known.length === 0) return;
    if (!drawn.has(id)) newChart(id, names);
    Plotly.extendTraces(id, { x: [known.map(([time]) => new Date(1000 * time))], y: [known.map(([, v]) => v[name])] }, [trace], 4000);
  });
}

let fromFiles = false;
function addPoint(point) {
  for (const [id, names] of Object.entries(CHARTS)) extend(id, names, [[point.time, point.values]]);
  addSolveRate(point);
  if (fromFiles && hasSpeed(point)) addSpeed(speedOf(point));
}
// A run's files have no heartbeats: its speed is what the learner noted with each training phase.
const hasSpeed = (point) => point.values.expansions_per_s !== undefined;
const speedOf = (point) => ({ time: point.time, "prover.expansions": point.values.expansions_per_s });
const addSpeed = (speed) => extend("chart-speed", SPEEDS, [[speed.time, speed]]);

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const id of drawn) Plotly.relayout(id, timed(id));
});

// --- proofs and log -------------------------------------------------------------------------------------------------
function leanText(text) {
  const pre = element("pre");
  for (const part of text.split(/(\b(?:theorem|by|fun|with|at|Prop|Type|Nat)\b|^ +·? ?[a-z_']+)/m)) {
    const keyword = /^(theorem|by|fun|with|at|Prop|Type|Nat)$/.test(part);
    pre.append(keyword ? element("span", "keyword", part) : /^ +·? ?[a-z_']+$/.test(part) ? element("span", "tactic", part) : part);
  }
  return pre;
}

function addProof(proof) {
  $("proofs").querySelector(".empty")?.remove();
  const item = element("div", "proof");
  const when = new Date(1000 * proof.time).toLocaleTimeString();
  item.append(leanText(proof.lean), element("span", "quiet", `${when} · ${proof.purpose} · ${proof.simulations} simulations`));
  $("proofs").prepend(item);
  while ($("proofs").children.length > PROOFS) $("proofs").lastChild.remove();
}

function addLog(record) {
  const log = $("log"), follow = log.scrollTop + log.clientHeight > log.scrollHeight - 30;
  const fields = Object.entries(record.fields).map(([k, v]) => `${visible(k)}=${v}`).join(" ");
  const line = element("div", `line ${record.level}`);
  line.append(element("time", "", new Date(1000 * record.time).toLocaleTimeString()), ` ${record.role}  ${record.event}  ${fields}`);
  line.dataset.level = LEVELS[record.level] ?? 1;
  line.hidden = line.dataset.level < $("level").value;
  log.append(line);
  while (log.children.length > LOG_LINES) log.firstChild.remove();
  if (follow) log.scrollTop = log.scrollHeight;
}

$("level").addEventListener("change", () => {
  for (const line of $("log").children) line.hidden = line.dataset.level < $("level").value;
});

// --- the stream -----------------------------------------------------------------------------------------------------
const events = new EventSource("/events");
const on = (kind, handler) => events.addEventListener(kind, (event) => each([handler], (handle) => handle(received(event.data))));
on("history", (history) => {
  $("run").textContent = history.run;
  fromFiles = history.files !== undefined;
  document.body.classList.toggle("alone", !history.mesh && !fromFiles);
  document.body.classList.toggle("files", fromFiles);
  each([() => showSummary(history.summary), () => showTraining(history.training, true)], (show) => show());
  document.title = `proofmesh · ${history.run}`;
  $("proofs").replaceChildren();
  $("log").replaceChildren();
  if (history.proofs.length === 0) $("proofs").append(element("p", "quiet empty", "No verified proof yet."));
  each([drawCharts], (draw) => draw(history));
  each(history.proofs, addProof);
  each(history.logs, addLog);
});
on("overview", showOverview);
on("proof", addProof);
on("point", addPoint);
on("evaluation", addEvaluation);
on("summary", showSummary);
on("training", (run) => showTraining([run]));
on("log", addLog);
events.onerror = () => setLink("monitor unreachable", "bad");
