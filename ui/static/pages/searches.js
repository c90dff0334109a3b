// The searches that are kept, the most interesting first.
import { fill, h, shortened } from "../lib/dom.js";
import { queryOf } from "../lib/api.js";
import { bytes, duration, moment, number } from "../lib/format.js";
import { card, choice, dot, empty, heading, laterChoice, pager, searchField } from "../lib/parts.js";
import { table } from "../lib/table.js";

/** @type {import("../types").Page} */
export const page = {
  title: "Searches",
  uses: ["searches", "nodes"],
  open(root, context) {
    const pages = pager(context, 50), outcome = laterChoice(context, "outcome", "Outcome");
    const none = empty("This run keeps no searches; [learner] keep_searches says how many megabytes of them are kept.");
    const rows = table({
      caption: "Kept searches",
      columns: [
        { label: "search", cell: (/** @type {any} */ each) => shortened(each.attempt_id, 40), class: "name" },
        { label: "theorem", cell: (each) => shortened(each.theorem_id, 60), class: "name" },
        { label: "outcome", cell: (each) => dot(each.outcome) },
        { label: "purpose", cell: (each) => each.purpose },
        { label: "interest", number: true, title: "Of a proof: the share of the budget it took. Of a failure: 1 / the tactics that were missing, as estimated", cell: (each) => number(each.interest) },
        { label: "size", number: true, title: "Compressed", cell: (each) => bytes(each.bytes) },
        { label: "recorded", cell: (each) => moment(each.recorded) },
      ],
      key: (each) => each.attempt_id,
      href: (each) => context.href("search", each.attempt_id),
      empty: "No search is like that.",
    });
    const list = card("Kept searches", { wide: true, note: "late proofs and near misses are the most interesting", tools: [searchField(context, "text", "Attempt, theorem or purpose"), outcome.node,
      choice(context, "order", "Order", [["interest", "most interesting first"], ["newest", "newest first"]])] }, rows.node, pages.node);
    const running = table({
      caption: "Searches that go on",
      columns: [
        { label: "theorem", cell: (/** @type {any} */ each) => shortened(each.theorem_id, 60), class: "name" },
        { label: "purpose", cell: (each) => each.purpose },
        { label: "prover", cell: (each) => shortened(each.prover, 40), class: "name" },
        { label: "for", number: true, cell: (each) => duration(each.seconds) },
        { label: "simulations", number: true, cell: (each) => number(each.simulations) },
        { label: "states", number: true, cell: (each) => number(each.states) },
      ],
      key: (each) => each.attempt_id,
      href: (each) => `${context.href("search", each.attempt_id)}${queryOf({ prover: each.prover })}`,
      empty: "No prover searches at this moment.",
      tall: true,
    });
    const unheard = h("p", { class: "quiet", role: "status" });
    const now = card("Running now", { wide: true, note: "the longest first; open one to see its tree as it is" }, running.node, unheard);
    now.hidden = true;
    root.append(heading("Searches"), now, none, list);
    return {
      async refresh() {
        now.hidden = !context.tick?.live;
        if (!now.hidden) {
          const found = await context.get("at_work");
          running.set(found.rows);
          fill(unheard, found.total > found.rows.length ? `${number(found.total)} searches in all. ` : null, found.silent ? `${number(found.silent)} provers have not been heard.` : null);
        }
        const query = context.query, asked = ["text", "outcome", "order"].map((name) => [name, query.get(name) ?? undefined]);
        const found = await context.get("searches", { ...Object.fromEntries(asked), from: pages.from() || undefined, limit: pages.size });
        [none.hidden, list.hidden] = [found.keeps, !found.keeps];
        outcome.set([["", "every outcome"], ...found.outcomes.map((/** @type {string} */ each) => [each, each])]);
        rows.set(found.rows);
        pages.set(found.total, found.rows.length);
      },
    };
  },
};
