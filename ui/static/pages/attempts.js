// All attempts of a run, the newest first.
import { shortened } from "../lib/dom.js";
import { clock, duration, number } from "../lib/format.js";
import { card, dot, heading, laterChoice, pager, searchField } from "../lib/parts.js";
import { table } from "../lib/table.js";

/** @type {import("../types").Page} */
export const page = {
  title: "Attempts",
  uses: ["records"],
  open(root, context) {
    const outcome = laterChoice(context, "outcome", "Outcome"), purpose = laterChoice(context, "purpose", "Purpose");
    const pages = pager(context, 50), rows = table({ ...attemptColumns(context), empty: "No attempt is like that." });
    root.append(heading("Attempts"), card("The newest first", { wide: true, note: "seconds are from dispatch to record", tools: [searchField(context, "text", "Id, theorem, prover or message"), outcome.node, purpose.node] },
      rows.node, pages.node));
    return {
      async refresh() {
        const query = context.query, asked = ["text", "outcome", "purpose"].map((name) => [name, query.get(name) ?? undefined]);
        const found = await context.get("attempts", { ...Object.fromEntries(asked), from: pages.from() || undefined, limit: pages.size });
        outcome.set([["", "every outcome"], ...found.outcomes.map((/** @type {string} */ each) => [each, each])]);
        purpose.set([["", "every purpose"], ...found.purposes.map((/** @type {string} */ each) => [each, each])]);
        rows.set(found.rows);
        pages.set(found.total, found.rows.length, found.more);
      },
    };
  },
};

/**
 * The columns of a table of attempts. @param {import("../types").Context} context @param {boolean} [one] of one theorem
 */
export function attemptColumns(context, one) {
  /** @type {import("../types").Column<any>[]} */
  const columns = [
    { label: "attempt", cell: (each) => shortened(each.attempt_id, 40), class: "name" },
    { label: "dispatched", cell: (each) => clock(each.created) },
    ...(one ? [] : [{ label: "theorem", cell: (/** @type {any} */ each) => shortened(each.theorem_id, 40), class: "name" }]),
    { label: "purpose", cell: (each) => each.purpose, class: "short" },
    { label: "outcome", cell: (each) => dot(each.outcome) },
    { label: "simulations", number: true, title: "Spent, of those that it may spend", cell: (each) => (each.simulations === null ? `of ${number(each.budget)}` : `${number(each.simulations)} of ${number(each.budget)}`) },
    { label: "expansions", number: true, cell: (each) => number(each.expansions) },
    { label: "tactics", number: true, title: "Tactics that were sent to Lean", cell: (each) => number(each.lean_attempts) },
    { label: "in all", number: true, title: "From dispatch to record", cell: (each) => duration(each.total) },
    { label: "most of it", title: "The part that took most of the time", cell: (each) => (each.largest ? `${each.largest.name} ${duration(each.largest.seconds)}` : ""), class: "short" },
    { label: "weights", number: true, title: "Version of the weights at its end", cell: (each) => number(each.weights || null) },
    { label: "search", cell: (each) => (each.kept ? "kept" : "") },
    { label: "prover", cell: (each) => shortened(each.prover_id ?? "", 60), class: "name prover" },
  ];
  return { caption: "Attempts", columns, key: (/** @type {any} */ each) => each.attempt_id, href: (/** @type {any} */ each) => context.href("attempt", each.attempt_id) };
}
