// What the broker holds: streams, queues, connections; who misbehaves.
import { fill, h, shortened } from "../lib/dom.js";
import { bytes, number, percent } from "../lib/format.js";
import { card, chip, empty, stack } from "../lib/parts.js";
import { rolePage } from "../lib/role.js";
import { table } from "../lib/table.js";

/** Rows out of values such as `stream.NAME.bytes`. @param {Record<string, number>} totals @param {string} kind */
function rows(totals, kind) {
  /** @type {Map<string, any>} */
  const found = new Map();
  for (const [key, value] of Object.entries(totals)) {
    const match = new RegExp(`^${kind}\\.(.+)\\.([a-z]+)$`).exec(key);
    if (!match?.[1] || !match[2]) continue;
    if (!found.has(match[1])) found.set(match[1], { name: match[1] });
    found.get(match[1])[match[2]] = value;
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name, "en"));
}

export const page = rolePage({
  title: "Broker",
  role: "broker",
  note: "nats-server: streams and queues of this run",
  tiles: (totals) => [
    { value: number(totals.connections), label: "connections" },
    { value: number(totals.attempts_waiting), label: "attempts that wait" },
    { value: number(totals.leased), label: "leased" },
    { value: number(totals.results_waiting), label: "results that wait", tone: (totals.results_waiting ?? 0) > 100 ? "warn" : undefined },
    { value: number(totals.slow_consumers), label: "connections dropped as too slow", tone: totals.slow_consumers ? "warn" : undefined },
    { value: bytes(totals.server_memory_bytes), label: "memory of nats-server" },
    { value: totals.server_cpu_percent === undefined ? "–" : percent(totals.server_cpu_percent / 100), label: "of a processor" },
  ],
  charts: [
    { title: "Queues", unit: "messages", lines: [["attempts_waiting", "attempts"], ["leased", "leased"], ["results_waiting", "results"]] },
    { title: "Messages", unit: "a second", lines: [["messages_in", "received"], ["messages_out", "sent"]] },
    { title: "Traffic", unit: "kB a second", scale: 1e-3, lines: [["bytes_in", "received"], ["bytes_out", "sent"]] },
    { title: "Connections", unit: "connections", lines: [["connections", "connections"]] },
  ],
  columns: [["connections", "connections"], ["attempts_waiting", "attempts waiting"], ["results_waiting", "results waiting"], ["leased", "leased"]],
  more(context) {
    const streams = table({
      caption: "Streams",
      columns: [
        { label: "stream", cell: (/** @type {any} */ row) => shortened(row.name, 80) },
        { label: "messages", number: true, cell: (row) => number(row.messages) },
        { label: "size", number: true, cell: (row) => bytes(row.bytes) },
        { label: "limit", number: true, cell: (row) => (row.limit > 0 ? bytes(row.limit) : "none") },
        { label: "full", cell: (row) => (row.limit > 0 ? stack([{ name: "used", value: row.bytes, colour: row.bytes / row.limit > 0.8 ? 1 : 0, shown: bytes(row.bytes) }, { name: "free", value: Math.max(0, row.limit - row.bytes), colour: 7, shown: bytes(row.limit - row.bytes) }], "used") : "") },
        { label: "", number: true, cell: (row) => (row.limit > 0 ? percent(row.bytes / row.limit) : "") },
      ],
      key: (row) => row.name,
      empty: "The broker node has not said.",
    });
    const queues = table({
      caption: "Queues",
      columns: [
        { label: "queue", cell: (/** @type {any} */ row) => shortened(row.name, 80) },
        { label: "waiting", number: true, cell: (row) => number(row.waiting) },
        { label: "leased", number: true, cell: (row) => number(row.leased) },
      ],
      key: (row) => row.name,
      empty: "The broker node has not said.",
    });
    const sick = h("div");
    return {
      nodes: [card("Misbehaving, unhealthy", { wide: true }, sick), card("Streams", {}, streams.node), card("Queues", {}, queues.node)],
      set(data) {
        streams.set(rows(data.totals, "stream"));
        queues.set(rows(data.totals, "queue"));
        const troubles = data.troubles ?? [];
        fill(sick, troubles.length ? h("ul", { class: "plain" }, troubles.map((/** @type {string} */ each) => h("li", null, chip("!", "bad"), " ", shortened(each, 400)))) : empty(context.tick?.live ? "Nobody; nothing." : "Only a running mesh says."));
      },
    };
  },
});
