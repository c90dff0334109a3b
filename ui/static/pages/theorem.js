// One theorem: its statement, every attempt, its proofs.
import { fill, h, shortened } from "../lib/dom.js";
import { clock, count, number } from "../lib/format.js";
import { card, chip, empty, facts, heading, lean } from "../lib/parts.js";
import { lineChart } from "../lib/chart.js";
import { table } from "../lib/table.js";
import { attemptColumns } from "./attempts.js";
import { known } from "./theorems.js";

/** @type {import("../types").Page} */
export const page = {
  title: "Theorem",
  uses: ["records"],
  open(root, context) {
    const name = context.rest[0] ?? "";
    const statement = h("div"), about = h("div"), proofs = h("div"), more = h("p", { class: "quiet", hidden: true });
    const budget = lineChart({ title: "Simulations of each attempt", xLabel: "attempt", yLabel: "simulations", zero: true, empty: "It was never tried." });
    const attempts = table({ ...attemptColumns(context, true), empty: "It was never tried.", tall: true });
    root.append(heading(shortened(name, 120)), card("Statement", { wide: true }, statement), card("What is known", {}, about),
      card("Budget over attempts", { note: "the learner raises it after failures" }, budget.node),
      card("Proofs", { wide: true, note: "each checked by Lean's kernel" }, proofs), card("Attempts", { wide: true, note: "the newest first" }, attempts.node, more));
    return {
      async refresh() {
        const data = await context.get("theorem", { id: name });
        fill(statement, lean(data.statement), data.place ? [h("p", { class: "quiet" }, "It is a gap in a Lean file:"), lean(data.place)] : null,
          data.header ? [h("p", { class: "quiet" }, "Header:"), lean(data.header)] : null);
        fill(about, facts([
          ["result", known(data.known, data.result)], ["family", shortened(data.family, 100)], ["level", number(data.level)],
          ["attempts", `${number(data.attempts)} decided, ${number(data.failures)} failed`], ["proofs in a row", number(data.in_a_row)],
          ["shortest proof", data.shortest === null ? "none known" : count(data.shortest, "tactic")], ["expansions", number(data.expansions)], ["tactics sent to Lean", number(data.lean_attempts)],
          ["last attempt", data.tried ? `${number(data.last_budget)} simulations, weights ${number(data.last_weights)}` : "none"],
          ["more", h("a", { href: `${context.href("searches")}?text=${encodeURIComponent(name)}` }, "kept searches")],
        ]));
        const tries = data.tries_shown, first = data.attempts_total - tries.length;
        const oldest = [...tries].reverse();
        budget.set([
          { name: "budget", dots: true, points: oldest.map((/** @type {any} */ each, /** @type {number} */ place) => [first + place + 1, each.budget]) },
          { name: "spent", dots: true, points: oldest.map((/** @type {any} */ each, /** @type {number} */ place) => [first + place + 1, each.simulations]) },
        ]);
        showProofs(proofs, data.proofs, context);
        attempts.set(tries);
        more.hidden = first === 0;
        fill(more, `The newest ${number(tries.length)} of ${number(data.attempts_total)}. `, h("a", { href: `${context.href("attempts")}?text=${encodeURIComponent(name)}` }, "All of them"));
      },
      close: () => budget.close(),
    };
  },
};

/** @param {HTMLElement} where @param {any[]} proofs @param {import("../types").Context} context */
export function showProofs(where, proofs, context) {
  fill(where, proofs.length === 0 ? empty("None is known.") : proofs.map((proof) => h("div", { class: "proof" }, lean(proof.lean),
    h("p", { class: "quiet" }, proof.disproof ? [chip("disproof", "accent"), " "] : null, `${clock(proof.time)} · ${proof.purpose} · ${number(proof.simulations)} simulations · Lean ${shortened(proof.lean_version, 40)} · axioms: ${shortened(proof.axioms || "none", 200)} · `,
      h("a", { href: context.href("attempt", proof.attempt_id) }, shortened(proof.attempt_id, 60))))));
}

