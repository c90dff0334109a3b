// Evaluations: their history, one of them by level, family and statement, and two compared.
import { fill, h, shortened } from "../lib/dom.js";
import { duration, moment, number, percent } from "../lib/format.js";
import { card, choice, dot, empty, heading, pager, tiles } from "../lib/parts.js";
import { lineChart } from "../lib/chart.js";
import { table } from "../lib/table.js";

/** @typedef {{solved: number, of: number, rate: number, low: number, high: number}} Share */

/** @param {string} caption */
const shares = (caption) => table({
  caption,
  columns: [
    { label: caption, cell: (/** @type {[string, Share]} */ row) => shortened(row[0], 60) },
    { label: "solved", number: true, cell: (row) => `${number(row[1].solved)} of ${number(row[1].of)}` },
    { label: "share", number: true, cell: (row) => percent(row[1].rate) },
    { label: "95 % interval", number: true, cell: (row) => `${percent(row[1].low)} to ${percent(row[1].high)}` },
  ],
  key: (row) => row[0],
});

/** @type {import("../types").Page} */
export const page = {
  title: "Evaluation",
  uses: ["evaluations", "records"],
  open(root, context) {
    const chart = lineChart({ title: "Statements solved, by evaluation", xLabel: "training step", yLabel: "share solved", share: true, empty: "No evaluation has ended yet." });
    const history = table({
      caption: "Evaluations",
      columns: [
        { label: "evaluation", cell: (/** @type {any} */ each) => each.label || "(without a label)" },
        { label: "step", number: true, cell: (each) => number(each.step) },
        { label: "weights", number: true, cell: (each) => number(each.weights) },
        { label: "solved", number: true, cell: (each) => `${number(each.share.solved)} of ${number(each.share.of)}` },
        { label: "share", number: true, cell: (each) => percent(each.share.rate) },
        { label: "95 % interval", number: true, cell: (each) => `${percent(each.share.low)} to ${percent(each.share.high)}` },
        { label: "undecided", number: true, cell: (each) => number(each.undecided), title: "Infrastructure failed" },
        { label: "simulations", number: true, cell: (each) => number(each.simulations), title: "Of each search; a bank with a budget factor has that many times as many" },
        { label: "Lean attempts", number: true, cell: (each) => number(each.lean_attempts) },
        { label: "ended", cell: (each) => moment(each.time) },
      ],
      key: (each) => `${each.label} ${each.time}`,
      href: (each) => `?label=${encodeURIComponent(each.label)}`,
      tone: (each) => (each.label === label ? "chosen" : ""),
      empty: "No evaluation has ended yet.",
      tall: true,
    });
    let label = "";
    const levels = shares("level"), families = shares("family"), banks = shares("bank");
    const against = /** @type {HTMLSelectElement} */ (h("select", { "aria-label": "Compare with" }));
    against.addEventListener("change", () => context.setQuery({ against: against.value }));
    const difference = h("div", { class: "tiles" }), won = h("div"), lost = h("div");
    const only = choice(context, "outcome", "Outcome", [["", "all outcomes"], ["solved", "solved"], ["unsolved", "unsolved"], ["undecided", "undecided"], ["outstanding", "outstanding"]]);
    const pages = pager(context, 100);
    const statements = table({
      caption: "Statements",
      columns: [
        { label: "statement", cell: (/** @type {any} */ each) => shortened(each.theorem, 80) },
        { label: "family", cell: (each) => shortened(each.family, 40) },
        { label: "level", number: true, cell: (each) => number(each.level) },
        { label: "outcome", cell: (each) => dot(each.outcome) },
        { label: "simulations", number: true, cell: (each) => number(each.simulations) },
        { label: "time", number: true, cell: (each) => duration(each.seconds) },
        { label: "", cell: (each) => (each.attempt ? h("a", { href: context.href("search", each.attempt) }, "search") : shortened(each.reason, 200)) },
      ],
      key: (each) => each.theorem,
      href: (each) => (each.attempt ? context.href("attempt", each.attempt) : ""),
      tall: true,
    });
    const chosen = h("span", { class: "quiet" }), kept = h("span", { class: "quiet" });
    const compareCard = card("Compared with", { wide: true, tools: against }, difference, won, lost);
    const parts = [card("By level", { note: chosen }, levels.node), card("By family", {}, families.node)], byBank = card("By bank", {}, banks.node);
    const statementsCard = card("Statements", { note: kept, wide: true, tools: only }, statements.node, pages.node);
    const none = h("p", { class: "wide quiet", hidden: true }, "This run has no evaluations of its own: ", h("a", { href: context.href("training") }, "its training"), " measures held-out data.");
    root.append(heading("Evaluation"), none, card("Over the run", { note: "95 % intervals over statements, which never train", wide: true }, chart.node),
      card("Evaluations", { wide: true }, history.node), ...parts, byBank, compareCard, statementsCard);
    return {
      async refresh() {
        const data = await context.get("evaluations", { label: context.query.get("label") ?? "", against: context.query.get("against") ?? "", outcome: context.query.get("outcome") ?? "", from: pages.from(), limit: pages.size });
        none.hidden = data.history.length > 0 || !["training", "self-play"].includes(context.tick?.kind ?? "");
        label = data.label;
        const one = data.history.find((/** @type {any} */ each) => each.label === label);
        chart.set([{ name: "all statements", dots: true, points: data.history.map((/** @type {any} */ e) => [e.step, e.share.rate]), band: data.history.map((/** @type {any} */ e) => [e.step, e.share.low, e.share.high]) }]);
        history.set([...data.history].reverse().map((each) => ({ ...each, chosen: each.label === label })));
        fill(chosen, label);
        levels.set(byName(one?.levels));
        families.set(byName(one?.families));
        banks.set(byName(one?.banks));
        for (const each of parts) each.hidden = !one;
        byBank.hidden = Object.keys(one?.banks ?? {}).length === 0;
        const others = data.history.map((/** @type {any} */ each) => each.label).filter((/** @type {string} */ other) => other !== label);
        compareCard.hidden = others.length === 0 || data.all === 0;
        const picked = context.query.get("against") ?? "";
        fill(against, h("option", { value: "" }, "no other"), others.map((/** @type {string} */ other) => h("option", { value: other, selected: other === picked }, shortened(other, 60))));
        showCompared(data.compared, difference, won, lost, context);
        fill(kept, `${number(data.kept)} of ${number(data.all)}`);
        statements.set(data.statements);
        pages.set(data.kept, data.statements.length);
        statementsCard.hidden = !data.all;
      },
      close: () => chart.close(),
    };
  },
};

/** @param {Record<string, Share> | undefined} groups @returns {[string, Share][]} */
const byName = (groups) => Object.entries(groups ?? {}).sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));

/** @param {any} found @param {HTMLElement} difference @param {HTMLElement} won @param {HTMLElement} lost @param {import("../types").Context} context */
function showCompared(found, difference, won, lost, context) {
  if (!found) {
    fill(difference);
    fill(won, empty("Choose another evaluation, and see what differs, statement by statement."));
    fill(lost);
    return;
  }
  fill(difference, tiles([
    { value: `${found.difference > 0 ? "+" : ""}${number(100 * found.difference)}`, label: `points, 95 % interval ${number(100 * found.low)} to ${number(100 * found.high)}`, tone: found.low > 0 ? "good" : found.high < 0 ? "bad" : undefined },
    { value: number(found.statements), label: "statements that both decided" },
    { value: number(found.won), label: "solved here only", tone: "good" },
    { value: number(found.lost), label: "solved there only", tone: found.lost ? "warn" : undefined },
    { value: number(found.p), label: "p, McNemar's test" },
  ]));
  fill(won, names("Solved here only", found.won, found.won_names, context));
  fill(lost, names("Solved there only", found.lost, found.lost_names, context));
}

/** @param {string} title @param {number} count @param {any[]} statements @param {import("../types").Context} context */
function names(title, count, statements, context) {
  if (!statements.length) return null;
  return h("details", { open: statements.length <= 30 }, h("summary", null, `${title} (${number(count)})`),
    h("p", { class: "list" }, statements.map((each) => [h("a", { href: each.attempt ? context.href("attempt", each.attempt) : context.href("theorem", each.theorem) }, shortened(each.theorem, 60)), " "])));
}
