// What the network's nodes do: requests, batches, prefixes, versions.
import { bytes, number, percent } from "../lib/format.js";
import { rolePage } from "../lib/role.js";

const share = (/** @type {number} */ part, /** @type {number} */ whole) => (whole > 0 ? part / whole : null);

export const page = rolePage({
  title: "Inference",
  role: "inference",
  note: "tactic requests, answered in batches",
  tiles: (totals, data) => [
    { value: number(totals.states), label: "states answered" },
    { value: number(totals.tokens), label: "tokens sampled" },
    { value: number(totals.queue), label: "requests held", title: "Running ones included" },
    { value: percent(share(totals.remembered ?? 0, totals.states ?? 0)), label: "prefixes found", title: "States whose prompt was prefilled already, and not read again" },
    { value: number(data.nodes.length ? mean(data.nodes, "samples_per_pass") : null), label: "samples a forward pass" },
    { value: percent(share(totals.cut_off ?? 0, totals.states ?? 0)), label: "cut off, for each state", title: "Samples that were cut off never go to Lean" },
    { value: [...new Set(data.nodes.map((/** @type {any} */ node) => node.values.weights))].filter((v) => v !== undefined).sort().slice(-4).map(number).join(", ") || "–", label: "weight versions served" },
    { value: number(totals.paused), label: "nodes paused for training", tone: totals.paused ? "warn" : undefined },
  ],
  charts: [
    { title: "Speed", unit: "states a second", lines: [["states", "states"]] },
    { title: "Tokens", unit: "tokens a second", lines: [["tokens", "tokens"]] },
    { title: "Queue", unit: "requests", lines: [["queue", "requests held"]] },
    { title: "Batches", note: "sums over the nodes", unit: "rows, samples", lines: [["rows_per_pass", "rows a pass"], ["samples_per_pass", "samples a pass"]] },
    { title: "Prefixes", unit: "states a second", lines: [["remembered", "prefixes found"], ["states", "states"]] },
    { title: "Pause", note: "share of the time since it started", unit: "share", share: true, lines: [["pause_fraction", "paused"]] },
  ],
  columns: [["states", "states"], ["tokens", "tokens"], ["queue", "held"], ["samples_per_pass", "samples / pass"], ["weights", "weights"], ["pause_fraction", "paused", percent], ["prefilled_bytes", "prefixes", bytes]],
});

/** @param {any[]} nodes @param {string} name */
function mean(nodes, name) {
  const known = nodes.map((node) => node.values[name]).filter((value) => Number.isFinite(value));
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}
