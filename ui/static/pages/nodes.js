// All nodes of the mesh, the sick ones first; of a run that is shown from its files, those that it has had.
import { fill, h, shortened } from "../lib/dom.js";
import { bytes, clock, duration, moment, number, percent } from "../lib/format.js";
import { card, choice, dot, empty, heading, pager, searchField } from "../lib/parts.js";
import { table } from "../lib/table.js";

/** @typedef {import("../types").Context} Context */

const SIZE = 50;
const STATES = /** @type {[string, string][]} */ ([["", "every state"], ...["sick", "running", "unhealthy", "draining", "starting", "paused", "gone", "left"].map((each) => [each, each])]);

/** @type {import("../types").Page} */
export const page = {
  title: "Nodes",
  uses: ["nodes"],
  open(root, context) {
    const groups = h("div", { class: "tiles wide" });
    const pages = pager(context, SIZE);
    const state = choice(context, "state", "State", STATES);
    const note = h("span");
    const list = table({
      caption: "Nodes",
      columns: columns(),
      key: (each) => each.id,
      href: (each) => context.href("node", each.id),
      tone: (each) => (each.state === "gone" || each.state === "left" ? "gone" : ""),
      order: () => context.query.get("order") ?? "sick",
      sort: (order) => context.setQuery({ order: order === context.query.get("order") ? undefined : order, from: undefined }),
      empty: "No node.",
    });
    const words = empty();
    const box = card("Nodes", { wide: true, note, tools: [searchField(context, "text", "part of a name, a host, or what is wrong"), state] }, list.node, pages.node);
    root.append(heading("Nodes"), words, groups, box);
    return {
      async refresh() {
        const query = context.query;
        const asked = Object.fromEntries(["text", "role", "state", "order", "from"].map((name) => [name, query.get(name) ?? undefined]));
        const data = await context.get("nodes", { ...asked, limit: SIZE });
        const none = Object.keys(data.roles).length === 0;
        words.hidden = !none;
        [box.hidden, groups.hidden] = [none, none];
        if (none) fill(words, data.live ? "No node has been heard yet." : "This run has no nodes in its files: only a learner in a mesh writes them (nodes.jsonl).");
        fill(note, data.live ? "now, the sick ones first" : "as the run's files have them; each was heard every few seconds");
        showGroups(groups, data.roles, context);
        list.set(data.rows);
        pages.set(data.total, data.rows.length);
      },
    };
  },
};

/** Number of nodes by role and state; each leads to its own. @param {HTMLElement} where @param {Record<string, Record<string, number>>} roles @param {Context} context */
function showGroups(where, roles, context) {
  const chosen = context.query.get("role") ?? "";
  const whole = Object.values(roles).reduce((sum, states) => sum + all(states), 0);
  const sick = Object.values(roles).reduce((sum, states) => sum + (states["sick"] ?? 0), 0);
  fill(where, group("all roles", whole, { sick }, "", chosen, context), Object.entries(roles).map(([role, states]) => group(role, all(states), states, role, chosen, context)));
}

/** @param {Record<string, number>} states */
const all = (states) => Object.entries(states).reduce((sum, [state, count]) => (state === "sick" ? sum : sum + count), 0);

/** @param {string} label @param {number} count @param {Record<string, number>} states @param {string} role @param {string} chosen @param {Context} context */
function group(label, count, states, role, chosen, context) {
  const sick = states["sick"] ?? 0;
  const rest = Object.entries(states).filter(([state, each]) => state !== "sick" && each > 0).map(([state, each]) => `${number(each)} ${shortened(state, 20)}`);
  return h("button", { class: `tile pick ${sick ? "bad" : ""}`, "aria-pressed": String(role === chosen), on: { click: () => context.setQuery({ role: role || undefined, from: undefined }) } },
    h("b", null, number(count)), h("span", null, shortened(label, 30)), h("span", { class: "block" }, [sick ? `${number(sick)} sick` : "", ...rest].filter(Boolean).join(" · ")));
}

/** @returns {import("../types").Column<any>[]} */
function columns() {
  return [
    { label: "node", sort: "node", class: "narrow", cell: (each) => h("span", { title: shortened(each.id, 200) }, shortName(each.id)) },
    { label: "state", sort: "state", class: "narrow", cell: (each) => [dot(each.state), each.why ? h("div", { class: "bad" }, shortened(each.why, 240)) : null] },
    { label: "does", class: "narrow", cell: (each) => doing(each.does) },
    { label: "host", sort: "host", class: "short", cell: (each) => shortened(each.host || "–", 40) },
    { label: "up since", sort: "up", class: "line", cell: (each) => h("span", { title: moment(each.since) }, clock(each.since)) },
    { label: "last heard", sort: "heard", class: "line", cell: (each) => (each.heard ? h("span", { title: moment(each.heard) }, clock(each.heard)) : each.silent ? h("span", { class: each.silent > 10 ? "bad" : "warn" }, `${duration(each.silent)} ago`) : "just now") },
    { label: "CPU", number: true, sort: "cpu", title: "Share of one core; the children of the process, such as Lean, are not counted", cell: (each) => percent(each.cpu) },
    { label: "memory", number: true, sort: "memory", title: "Resident memory of the process, without its children", cell: (each) => bytes(each.memory) },
    { label: "GPU", number: true, sort: "gpu", title: "How busy its busiest GPU is, and how full the memory of the fullest", cell: (each) => (each.gpu === undefined ? "–" : [percent(each.gpu), each.gpu_memory === undefined ? null : h("div", { class: "quiet" }, `memory ${percent(each.gpu_memory)}`)]) },
    { label: "loop lag", number: true, sort: "lag", title: "The longest time in the last second that its event loop stood still", cell: (each) => (each.lag === undefined ? "–" : h("span", { class: each.lag >= 500 ? "bad" : "" }, duration(each.lag / 1000))) },
    { label: "clock", number: true, sort: "clock", title: "How far its clock is ahead of the monitor's", cell: (each) => offset(each.ahead) },
    { label: "restarts", number: true, sort: "restarts", title: "Lean workers of the node that crashed or were killed by a limit, and were started again", cell: (each) => number(each.restarts) },
    { label: "last error", sort: "error", class: "narrow", cell: (each) => (each.error ? [h("span", { class: "quiet" }, clock(each.error_time)), " ", shortened(each.error, 160)] : "") },
  ];
}

/** An id without the fingerprint of the node's key. @param {string} id */
export const shortName = (id) => shortened(id.replace(/-[0-9a-f]{16}$/, ""), 60);

/** The most telling values of a node. @param {Record<string, number> | undefined} values */
export const doing = (values) => Object.entries(values ?? {}).map(([name, value]) => `${shortened(name, 40).replaceAll("_", " ")} ${number(value)}`).join(", ");

/** @param {unknown} ahead seconds */
export function offset(ahead) {
  if (typeof ahead !== "number" || !Number.isFinite(ahead)) return "–";
  return h("span", { class: Math.abs(ahead) >= 2 ? "bad" : "" }, `${ahead < 0 ? "−" : "+"}${duration(Math.abs(ahead))}`);
}
