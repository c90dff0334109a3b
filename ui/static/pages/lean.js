// What Lean does: pools of workers, how tactics end, verification, memory; the slowest attempts.
import { h } from "../lib/dom.js";
import { duration, number, percent } from "../lib/format.js";
import { card, dot } from "../lib/parts.js";
import { rolePage } from "../lib/role.js";
import { table } from "../lib/table.js";

const KINDS = [["proved", "proved"], ["goals", "goals left"], ["error", "tactic error"], ["refused", "refused"], ["timeout", "timeout"], ["memory", "memory"], ["crashed", "crashed"], ["lost", "lost worker"]];
const ROLES = { "lean-proxy": "answered by lean-proxies", prover: "seen by searches" };

export const page = rolePage({
  title: "Lean",
  role: "lean-proxy",
  note: "tactics run, proofs verified",
  tiles: (totals) => [
    { value: number(totals.candidates), label: "tactics answered" },
    { value: number(totals.workers), label: "workers" },
    { value: number(totals.queue), label: "requests that wait", tone: (totals.queue ?? 0) > 2 * (totals.workers ?? 0) ? "warn" : undefined },
    { value: number(totals.proofs_accepted), label: "proofs accepted", tone: "good" },
    { value: number(totals.proofs_rejected), label: "proofs rejected", tone: totals.proofs_rejected ? "bad" : undefined },
    { value: number(totals.verify_queue), label: "proofs that wait" },
    { value: number(totals.worker_restarts), label: "workers restarted", tone: totals.worker_restarts ? "warn" : undefined },
    { value: totals.rss_mb === undefined ? "–" : `${number(totals.rss_mb)} MB`, label: "memory of workers" },
  ],
  charts: [
    { title: "Speed", unit: "tactics a second", lines: [["candidates", "tactics"]] },
    { title: "Waiting", unit: "requests", lines: [["queue", "tactics"], ["verify_queue", "proofs"]] },
    { title: "Workers", unit: "workers", lines: [["workers", "live"]] },
    { title: "Memory of workers", unit: "MB", lines: [["rss_mb", "resident"]] },
    { title: "How tactics end", unit: "a second", lines: [["outcome_proved", "proved"], ["outcome_goals", "goals left"], ["outcome_error", "tactic error"], ["outcome_timeout", "timeout"], ["outcome_lost", "lost worker"]] },
    { title: "Verification", unit: "proofs a second", lines: [["proofs_accepted", "accepted"], ["proofs_rejected", "rejected"]] },
  ],
  columns: [["workers", "workers"], ["queue", "waiting"], ["verify_queue", "proofs waiting"], ["candidates", "tactics"], ["proofs_accepted", "accepted"], ["proofs_rejected", "rejected"], ["worker_restarts", "restarts"], ["rss_mb", "MB"]],
  more(context) {
    const outcomes = table({
      caption: "Tactics by outcome",
      columns: [
        { label: "counted", cell: (/** @type {any} */ row) => /** @type {Record<string, string>} */ (ROLES)[row.role] ?? row.role },
        ...KINDS.map(([kind = "", label = ""]) => ({ label, number: true, cell: (/** @type {any} */ row) => h("span", { title: percent(row.counts[kind] / row.all) }, number(row.counts[kind] ?? 0)) })),
      ],
      key: (row) => row.role,
      empty: "No tactic was run yet.",
    });
    const slow = table({
      caption: "Attempts that waited longest for Lean",
      columns: [
        { label: "attempt", cell: (/** @type {any} */ each) => each.attempt_id },
        { label: "theorem", cell: (each) => each.theorem_id, class: "mono" },
        { label: "outcome", cell: (each) => dot(each.outcome) },
        { label: "Lean", number: true, cell: (each) => duration(each.seconds_lean), title: "Summed over expansions, which overlap" },
        { label: "an expansion", number: true, cell: (each) => duration(each.expansions ? each.seconds_lean / each.expansions : null) },
        { label: "tactics", number: true, cell: (each) => number(each.lean_attempts) },
        { label: "failed", number: true, cell: (each) => number(each.tactics_failed) },
      ],
      key: (each) => each.attempt_id,
      href: (each) => context.href("attempt", each.attempt_id),
      empty: "No attempt is recorded here.",
    });
    const slowCard = card("Slowest in Lean", { note: "of the last 1,000 attempts", wide: true }, slow.node);
    return {
      nodes: [card("Tactics by outcome", { note: "lost: infrastructure failed; it counts for no tactic, and is asked again", wide: true }, outcomes.node), slowCard],
      set(data) {
        outcomes.set(Object.entries(data.outcomes).filter(([, counts]) => Object.keys(counts).length).map(([role, counts]) => ({ role, counts, all: Object.values(counts).reduce((sum, each) => sum + each, 0) || 1 })));
        slowCard.hidden = data.slowest === null;
        slow.set(data.slowest ?? []);
      },
    };
  },
});
