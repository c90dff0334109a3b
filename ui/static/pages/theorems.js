// All theorems of a run: what is known of each, and what it has cost.
import { fill, h, shortened } from "../lib/dom.js";
import { number, percent } from "../lib/format.js";
import { card, choice, dot, heading, laterChoice, pager, searchField, tiles } from "../lib/parts.js";
import { table } from "../lib/table.js";

const RESULTS = ["open", "proved", "disproved", "refused", "untried"];

/** @type {import("../types").Page} */
export const page = {
  title: "Theorems",
  uses: ["records"],
  open(root, context) {
    const totals = h("div", { class: "tiles wide" });
    const family = laterChoice(context, "family", "Family"), level = laterChoice(context, "level", "Level");
    const pages = pager(context, 50);
    const levels = table({
      caption: "Train theorems by level",
      columns: [
        { label: "level", cell: (/** @type {any} */ each) => number(each.level) },
        { label: "theorems", number: true, cell: (each) => number(each.theorems) },
        ...RESULTS.map((name) => ({ label: name, number: true, cell: (/** @type {any} */ each) => number(each[name] ?? 0) })),
        { label: "proved, share", number: true, title: "Of all theorems of the level", cell: (each) => percent((each.proved ?? 0) / (each.theorems || 1)) },
        { label: "attempts", number: true, cell: (each) => number(each.attempts) },
        { label: "failed", number: true, cell: (each) => number(each.failures) },
        { label: "expansions", number: true, cell: (each) => number(each.expansions) },
      ],
      key: (each) => String(each.level),
      empty: "The run has no train theorems yet.",
    });
    const rows = table({
      caption: "Theorems",
      columns: [
        { label: "theorem", sort: "name", ascending: true, cell: (/** @type {any} */ each) => shortened(each.theorem_id, 48), class: "name" },
        { label: "statement", cell: (each) => h("code", null, shortened(`${each.binders ? `${each.binders} : ` : ""}${each.conclusion}`, 150)), class: "statement" },
        { label: "family", cell: (each) => shortened(each.family, 30), class: "short" },
        { label: "level", number: true, cell: (each) => number(each.level) },
        { label: "result", sort: "hardest", title: "Undecided theorems first, those with most failures at the top", cell: (each) => known(each.known, each.result), class: "short" },
        { label: "attempts", number: true, sort: "tried", title: "Decided attempts to prove or to disprove it", cell: (each) => number(each.attempts) },
        { label: "expansions", number: true, sort: "cost", title: "States that were expanded, over all attempts", cell: (each) => number(each.expansions) },
        { label: "shortest", number: true, sort: "shortest", ascending: true, title: "Tactics on the longest branch of the shortest proof", cell: (each) => number(each.shortest) },
        { label: "last budget", number: true, title: "Simulations of the last attempt", cell: (each) => number(each.last_budget || null) },
      ],
      key: (each) => each.theorem_id,
      href: (each) => context.href("theorem", each.theorem_id),
      empty: "No theorem is like that.",
      order: () => context.query.get("order") ?? "hardest",
      sort: (order) => context.setQuery({ order: order === "hardest" ? undefined : order, from: undefined }),
    });
    root.append(heading("Theorems"), totals,
      card("By level", { note: "train theorems", wide: true }, levels.node),
      card("All theorems", { wide: true, tools: [
        searchField(context, "text", "Name or statement"),
        choice(context, "result", "Result", [["", "every result"], ...RESULTS.map((each) => /** @type {[string, string]} */ ([each, each]))]),
        family.node, level.node,
        choice(context, "split", "Split", [["train", "train theorems"], ["test", "test statements"]]),
      ] }, rows.node, pages.node));
    return {
      async refresh() {
        const query = context.query, asked = ["text", "result", "family", "level", "split", "order"].map((name) => [name, query.get(name) ?? undefined]);
        const [found, sums] = await Promise.all([context.get("theorems", { ...Object.fromEntries(asked), from: pages.from() || undefined, limit: pages.size }), context.get("levels")]);
        const sum = (/** @type {string} */ name) => sums.levels.reduce((/** @type {number} */ all, /** @type {any} */ each) => all + (each[name] ?? 0), 0);
        fill(totals, tiles([{ value: number(sum("theorems")), label: "train theorems" }, { value: number(sum("proved")), label: "proved", tone: "good" },
          { value: number(sum("disproved")), label: "disproved" }, { value: number(sum("open")), label: "open" }, { value: number(sum("untried")), label: "untried" },
          { value: number(sum("refused")), label: "refused by Lean", tone: sum("refused") ? "warn" : undefined }, { value: number(sum("attempts")), label: "attempts" },
          { value: number(sum("expansions")), label: "expansions" }]));
        levels.set(sums.levels);
        family.set([["", "every family"], ...sums.families.map((/** @type {string} */ each) => [each, each])]);
        level.set([["", "every level"], ...sums.levels.map((/** @type {any} */ each) => [String(each.level), `level ${each.level}`])]);
        rows.set(found.rows);
        pages.set(found.total, found.rows.length);
      },
    };
  },
};

/** What is known of a theorem. @param {string} state @param {string} words */
export function known(state, words) {
  return h("span", null, dot(state), words === state ? null : ` ${words.replace(/^\w+ /, "")}`);
}
