// All runs of the folder, and several of them compared.
import { fill, h, shortened } from "../lib/dom.js";
import { duration, moment, number, percent } from "../lib/format.js";
import { card, choice, dot, empty, heading } from "../lib/parts.js";
import { lineChart } from "../lib/chart.js";
import { table } from "../lib/table.js";
import { part } from "../lib/api.js";

const SOLVED = "solved, by evaluation";
const MOST = 8;
const AXES = ["step", "seconds", "expansions"]; // as a point of a curve has them, its value last

/** @type {import("../types").Page} */
export const page = {
  title: "Runs",
  uses: [],
  open(root, context) {
    const chosen = () => (context.query.get("compare") ?? "").split(",").filter(Boolean);
    const field = /** @type {HTMLInputElement} */ (h("input", { type: "search", "aria-label": "Filter runs", placeholder: "Filter runs", value: context.query.get("text") ?? "", maxlength: "200" }));
    field.addEventListener("input", () => context.setQuery({ text: field.value }));
    const pick = (/** @type {string} */ name) => {
      const box = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", "aria-label": `Compare ${shortened(name, 60)}`, checked: chosen().includes(name) }));
      box.addEventListener("change", () => {
        const rest = chosen().filter((each) => each !== name);
        context.setQuery({ compare: (box.checked ? [...rest, name] : rest).slice(-MOST).join(",") });
      });
      return box;
    };
    const runs = table({
      caption: "All runs",
      columns: [
        { label: "run", cell: (/** @type {any} */ run) => shortened(run.name, 80) },
        { label: "compare", cell: (run) => pick(run.name) },
        { label: "kind", cell: (run) => (run.stage ? `${run.kind}: ${shortened(run.stage, 30)}` : run.kind) },
        { label: "state", cell: (run) => dot(run.state) },
        { label: "solved", number: true, cell: (run) => solved(run) },
        { label: "95 % interval", number: true, cell: (run) => (run.after ? `${percent(run.after.low)} to ${percent(run.after.high)}` : "") },
        { label: "proofs", number: true, cell: (run) => number(run.proofs) },
        { label: "step", number: true, cell: (run) => number(run.steps) },
        { label: "started", cell: (run) => moment(run.started) },
        { label: "took", number: true, cell: (run) => duration(run.changed !== null && run.started !== null ? run.changed - run.started : null) },
        { label: "last change", cell: (run) => moment(run.changed) },
      ],
      key: (run) => run.name,
      href: (run) => `/run/${part(run.name)}/overview`,
      empty: "No run: `proofmesh demo`, `proofmesh up` and `proofmesh train` make them.",
      tall: true,
    });
    const quantity = h("select", { "aria-label": "Quantity" });
    quantity.addEventListener("change", () => context.setQuery({ quantity: /** @type {HTMLSelectElement} */ (quantity).value === SOLVED ? undefined : /** @type {HTMLSelectElement} */ (quantity).value }));
    const over = choice(context, "over", "Over", [["step", "over steps"], ["expansions", "over expansions of learning"], ["seconds", "over seconds since the start"]]);
    const chart = lineChart({ title: "Runs compared", xLabel: "steps, or seconds", empty: "These runs have no such curve." });
    const shareChart = lineChart({ title: "Statements solved", xLabel: "steps, or seconds", share: true, empty: "These runs have no evaluation." });
    const results = h("div"), settings = h("div");
    const compare = [card("Curves", { wide: true, tools: [quantity, over] }, chart.node, shareChart.node), card("Results", {}, results), card("Settings in which they differ", {}, settings)];
    root.append(heading("Runs"), card("All runs", { note: "tick two or more to compare them", wide: true, tools: field }, runs.node), ...compare);
    return {
      async refresh() {
        const names = chosen();
        const data = await context.get("runs", { compare: names.length > 1 ? names.join(",") : "", quantity: context.query.get("quantity") ?? "" });
        const all = Array.isArray(data) ? data : data.runs;
        const text = field.value.toLowerCase();
        runs.set(all.filter((/** @type {any} */ run) => `${run.name} ${run.kind} ${run.state} ${run.stage}`.toLowerCase().includes(text)).map((/** @type {any} */ run) => ({ ...run, picked: names.includes(run.name) })));
        for (const each of compare) each.hidden = Array.isArray(data);
        if (!Array.isArray(data)) show(data);
      },
      close() {
        chart.close();
        shareChart.close();
      },
    };

    /** @param {any} data */
    function show(data) {
      const found = /** @type {any[]} */ (data.compared);
      const curves = [...new Set(found.flatMap((run) => run.names))].sort();
      const picked = context.query.get("quantity") ?? SOLVED;
      fill(quantity, [SOLVED, ...curves].map((name) => h("option", { value: name, selected: name === picked }, name)));
      const wanted = context.query.get("over") ?? "", x = AXES.includes(wanted) ? wanted : "step", place = AXES.indexOf(x);
      const byShare = picked === SOLVED;
      chart.node.hidden = byShare;
      shareChart.node.hidden = !byShare;
      if (byShare) {
        shareChart.set(found.map((run) => {
          const known = run.evaluations.filter((/** @type {any} */ each) => each.share && each[x] !== null);
          return { name: run.name, dots: true, points: known.map((/** @type {any} */ each) => [each[x], each.share.rate]), band: known.map((/** @type {any} */ each) => [each[x], each.share.low, each.share.high]) };
        }));
      } else {
        chart.set(found.map((run) => ({ name: run.name, points: run.curve.filter((/** @type {any[]} */ point) => point[place] !== null).map((/** @type {number[]} */ point) => [point[place], point[3]]) })));
      }
      const names = found.map((run) => run.name), rows = [...new Set(found.flatMap((run) => Object.keys(run.results)))];
      fill(results, grid("Results", names, rows.map((name) => ({ name: name.replaceAll("_", " "), values: found.map((run) => number(run.results[name])) }))));
      fill(settings, data.settings.length ? grid("Settings", names, data.settings) : empty("In none, as far as their files tell."));
    }
  },
};

/** @param {any} run */
function solved(run) {
  if (!run.after) return "";
  const after = `${number(run.after.solved)} of ${number(run.after.of)}`;
  return run.before ? `${number(run.before.solved)} → ${after}` : after;
}

/** @param {string} caption @param {string[]} names @param {{name: string, values: any[]}[]} rows */
function grid(caption, names, rows) {
  return h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": caption }, h("table", null, h("caption", { class: "unseen" }, caption),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, ""), names.map((name) => h("th", { scope: "col" }, shortened(name, 40))))),
    h("tbody", null, rows.map((row) => h("tr", null, h("th", { scope: "row" }, shortened(row.name, 80)), row.values.map((value) => h("td", null, shortened(value ?? "–", 200))))))));
}
