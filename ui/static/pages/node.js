// One node: what it is, what is wrong with it, what it has done over time, and what it has logged last.
import { controls } from "../lib/control.js";
import { lineChart } from "../lib/chart.js";
import { fill, h, shortened } from "../lib/dom.js";
import { bytes, clock, duration, moment, number, percent } from "../lib/format.js";
import { card, chip, choice, dot, facts, heading, lean } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { doing, offset, shortName } from "./nodes.js";

/** @typedef {import("../types").Context} Context */
/** @typedef {import("../types").Child} Child */

const COURSE_SECONDS = 5; // the curves have a sample every five seconds

/** What is drawn of each role: a title, and the values of its heartbeats. @type {Record<string, [string, string, string[]][]>} */
const DRAWN = {
  prover: [["Searches", "searches", ["searches", "searches_max"]], ["Work", "per second", ["expansions", "simulations", "attempts"]]],
  "lean-proxy": [["Lean workers and queues", "requests", ["workers", "queue", "verify_queue"]], ["Work", "per second", ["candidates", "proofs_accepted", "failures"]]],
  inference: [["Queue", "requests", ["queue"]], ["Work", "per second", ["states", "tokens"]]],
  learner: [["Attempts outstanding", "attempts", ["attempts_outstanding"]], ["Work", "per second", ["attempts_dispatched", "results", "proofs_verified", "train_steps"]]],
  broker: [["Waiting at the broker", "messages", ["attempts_waiting", "results_waiting", "leased"]], ["Connections", "connections", ["connections"]]],
};

/** @type {import("../types").Page} */
export const page = {
  title: "Node",
  uses: ["nodes", "logs"],
  open(root, context) {
    const id = context.rest[0] ?? "";
    const state = h("span"), troubles = h("div"), about = h("div"), told = h("div");
    const factsCard = card("What it serves, and how", {}, told);
    const troubleCard = card("What is wrong", { wide: true }, troubles);
    const processor = chart("Processor and GPU", "share", { share: true }), memory = chart("Memory", "MB"), lag = chart("Event loop stands still for", "ms");
    const own = [chart("", ""), chart("", "")], other = chart("Another value", "", { empty: "Choose a value above." });
    const ownCards = own.map(() => h("div", { hidden: true }));
    const picked = h("div");
    const log = table({
      caption: "Its latest log records",
      columns: [
        { label: "time", class: "line", cell: (/** @type {any} */ each) => h("span", { title: moment(each.time) }, clock(each.time)) },
        { label: "level", cell: (each) => chip(shortened(each.level, 20), each.level === "error" ? "bad" : each.level === "warning" || each.level === "text" ? "warn" : "") },
        { label: "event", class: "narrow", cell: (each) => shortened(each.event, 600) },
        { label: "more", class: "narrow", cell: (each) => h("span", { class: "quiet" }, shortened(Object.entries(each.fields).map(([name, text]) => `${name} ${text}`).join(", "), 400)) },
      ],
      key: (each) => each.key,
      empty: "It has logged nothing lately.",
      tall: true,
    });
    troubleCard.hidden = true;
    root.append(heading(shortName(id), state), troubleCard, card("This node", {}, about), factsCard,
      card("Processor and GPU", { note: "processor: share of one core" }, processor.node), card("Memory", { note: "of the process, without its children" }, memory.node),
      ...ownCards, card("Event loop", { note: "the longest delay in each second" }, lag.node), card("Another value", { tools: picked }, other.node),
      card("Its latest log records", { wide: true, note: h("a", { href: `${context.href("logs")}?node=${encodeURIComponent(id)}` }, "all of its log") }, log.node),
      h("div", { class: "control wide" }, card("Ask it", {}, controls(id, ["drain", "level", "stacks", "profile", "memory"]))));
    const parts = [...root.children].slice(2).filter((each) => each instanceof HTMLElement && !each.hidden); // nothing of a node that is not known
    const show = (/** @type {boolean} */ shown) => parts.forEach((each) => each.classList.toggle("unknown", !shown));
    show(false);
    let asked = -Infinity, drawn = "", role = "", names = "";
    return {
      async refresh() {
        const data = await context.get("node", { id });
        show(true);
        if (role !== data.row.role) {
          role = data.row.role;
          (DRAWN[role] ?? []).forEach(([title, label], place) => {
            own[place] = chart(title, label);
            const [where, made] = [ownCards[place], own[place]];
            if (where && made) where.replaceWith(card(title, {}, made.node));
          });
        }
        fill(state, dot(data.row.state));
        showTroubles(troubleCard, troubles, data);
        fill(about, facts(aboutNode(data)));
        factsCard.hidden = Object.keys(data.facts).length === 0 && Object.keys(data.about.capacity ?? {}).length === 0;
        fill(told, facts([...Object.entries(data.about.capacity ?? {}).map(([name, value]) => /** @type {[string, Child]} */ ([words(name), number(value)])), ...Object.entries(data.facts).filter(([name]) => name !== "type").map(([name, value]) => /** @type {[string, Child]} */ ([words(name), said(name, value)]))]));
        log.set(data.log.map((/** @type {any} */ each, /** @type {number} */ place) => ({ ...each, key: `${each.time} ${place}` })));
        const wanted = context.query.get("value") ?? "";
        const all = [...new Set(["cpu_share", "gpu_share", "gpu_memory_share", "memory_mb", "rss_mb", "loop_lag_ms", ...(DRAWN[role] ?? []).flatMap(([, , each]) => each), ...(wanted ? [wanted] : [])])];
        if (performance.now() - asked < 1000 * COURSE_SECONDS && drawn === wanted) return;
        [asked, drawn] = [performance.now(), wanted];
        const course = await context.get("node_course", { id, names: all.join(",") });
        const line = (/** @type {string} */ name, /** @type {string} */ label = words(name)) => ({ name: label, points: course.time.map((/** @type {number} */ time, /** @type {number} */ n) => [time, course.values[name]?.[n] ?? null]) });
        const some = (/** @type {any[]} */ lines) => lines.filter((each) => each.points.some((/** @type {any} */ point) => point[1] !== null));
        processor.set(some([line("cpu_share", "processor"), line("gpu_share", "busiest GPU"), line("gpu_memory_share", "memory of the fullest GPU")]));
        memory.set(some([line("memory_mb", "this process"), line("rss_mb", "its Lean workers")]));
        lag.set(some([line("loop_lag_ms", "delay")]));
        (DRAWN[role] ?? []).forEach(([, , each], place) => own[place]?.set(some(each.map((name) => line(name)))));
        if (names !== course.names.join()) {
          names = course.names.join();
          fill(picked, choice(context, "value", "Value", [["", "choose a value"], ...course.names.map((/** @type {string} */ name) => [name, words(name)])]));
        }
        other.set(wanted ? some([line(wanted, course.rates.includes(wanted) ? `${words(wanted)} per second` : words(wanted))]) : []);
      },
      close() {
        for (const each of [processor, memory, lag, other, ...own]) each.close();
      },
    };
  },
};

/** @param {string} title @param {string} yLabel @param {{share?: boolean, empty?: string}} [more] */
const chart = (title, yLabel, more = {}) => lineChart({ title, x: "time", xLabel: "time", yLabel, zero: true, empty: "It has not said this.", ...more });

/** @param {string} name */
const words = (name) => shortened(name, 60).replaceAll("_", " ");

/** @param {HTMLElement} where @param {HTMLElement} inside @param {any} data */
function showTroubles(where, inside, data) {
  where.hidden = data.why.length === 0;
  fill(inside, h("ul", { class: "plain" }, data.why.map((/** @type {string} */ each) => h("li", { class: "bad" }, shortened(each, 1000)))));
}

/** @param {any} data @returns {[string, Child][]} */
function aboutNode(data) {
  const { row, about } = data;
  /** @type {[string, Child][]} */
  const found = [["id", shortened(row.id, 200)], ["role", shortened(row.role, 60)]];
  if (row.host) found.push(["host", `${shortened(row.host, 100)}, process ${about.pid}`]);
  found.push(["up since", moment(row.since)]);
  if (row.heard) found.push(["last heard", moment(row.heard)], ["up for", duration(row.heard - row.since)]);
  if (row.silent) found.push(["last heard", `${duration(row.silent)} ago`]);
  if (about.version) found.push(["proofmesh", shortened(about.version, 40)]);
  found.push(["does", doing(row.does) || "–"], ["processor", percent(row.cpu)], ["memory", bytes(row.memory)]);
  if (row.gpu !== undefined) found.push(["GPU", percent(row.gpu)]);
  if (row.ahead !== undefined) found.push(["clock", h("span", null, offset(row.ahead), " against the monitor's")]);
  if (row.error) found.push(["last error", `${moment(row.error_time)}: ${shortened(row.error, 1000)}`]);
  if (about.metrics) found.push(["metrics", h("code", null, shortened(about.metrics, 200))]);
  return found;
}

/** What a node says about itself. @param {string} name @param {any} value @returns {Child} */
function said(name, value) {
  if (name === "header") return value ? lean(value, 2000) : "none";
  if (name === "protections") {
    return h("ul", { class: "plain" }, value.map((/** @type {any} */ each) => h("li", null, chip(each.works ? "works" : "not protected", each.works ? "good" : "bad"), " ", h("strong", null, shortened(each.name, 80)), ": ", shortened(each.how, 300))));
  }
  if (value === "" || value === null) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return number(value);
  if (Array.isArray(value)) return value.length ? h("ul", { class: "plain" }, value.map((each) => h("li", null, said("", each)))) : "none";
  if (typeof value === "object") return Object.keys(value).length ? facts(Object.entries(value).map(([key, each]) => [words(key), said(key, each)])) : "none";
  return shortened(value, 2000);
}
