// The replay buffer: where its rows come from, how old they are, the rows, and one row as the model reads it.
import { fill, h, shortened } from "../lib/dom.js";
import { count, moment, number, percent } from "../lib/format.js";
import { card, choice, empty, facts, heading, lean, pager, searchField, stack, tiles } from "../lib/parts.js";
import { lineChart } from "../lib/chart.js";
import { table } from "../lib/table.js";

/** What each source is, and its colour. @type {[string, string, number][]} */
const SOURCES = [
  ["proof", "proofs of train statements", 0], ["disproof", "disproofs", 1],
  ["held-out", "held out: measured, never trained on", 3],
];
const COLOURS = Object.fromEntries(SOURCES.map(([name, , colour]) => [name, colour]));
const SAMPLE = 50;

/** @type {import("../types").Page} */
export const page = {
  title: "Data",
  uses: ["records", "points"],
  open(root, context) {
    const numbers = h("div", { class: "tiles wide" }), words = h("div", { class: "wide" }), sources = h("div");
    const ages = lineChart({ title: "Rows by age", xLabel: "age in training steps", yLabel: "rows", zero: true, bars: true, empty: "The buffer is empty." });
    const pages = pager(context, 50), about = h("span", { class: "quiet" });
    const row = rowCard(context);
    const rows = table({
      caption: "Rows of the replay buffer",
      columns: [
        { label: "row", number: true, cell: (/** @type {any} */ each) => `#${each.number}` },
        { label: "source", cell: (each) => h("span", null, h("span", { class: `swatch c${COLOURS[each.source] ?? 7}` }), each.source), class: "short" },
        { label: "goal", title: "The state without its hypotheses", cell: (each) => h("code", null, shortened(each.goal, 160)), class: "statement" },
        { label: "tactic", cell: (each) => h("code", null, shortened(each.tactic, 100)), class: "statement" },
        { label: "steps", number: true, sort: "steps", title: "Tactics that remain in the proof", cell: (each) => number(each.steps || null) },
        { label: "age", number: true, sort: "newest", title: "Training steps since the weights that found it", cell: (each) => number(each.age) },
        { label: "uses", number: true, sort: "uses", title: "Times that it was trained on, at the latest checkpoint", cell: (each) => number(each.uses) },
        { label: "theorem", cell: (each) => (each.theorem ? h("a", { href: context.href("theorem", each.theorem) }, shortened(each.theorem, 40)) : ""), class: "name" },
        { label: "attempt", cell: (each) => (each.attempt ? h("a", { href: context.href("attempt", each.attempt) }, shortened(each.attempt, 30)) : ""), class: "name" },
      ],
      key: (each) => `${each.source} ${each.number}`,
      href: (each) => here({ row: each.number, bank: each.source === "supervised" ? 1 : undefined }),
      empty: "No row is like that.",
      order: () => context.query.get("order") ?? "newest",
      sort: (order) => context.setQuery({ order: order === "newest" ? undefined : order, from: undefined, sample: undefined }),
    });
    const some = h("button", { on: { click: () => context.setQuery({ sample: SAMPLE, seed: Number(context.query.get("seed") ?? 0) + (context.query.get("sample") ? 1 : 0), from: undefined }) } }, "Sample");
    const all = h("button", { on: { click: () => context.setQuery({ sample: undefined, seed: undefined }) } }, "All rows");
    const list = card("Rows", { wide: true, note: about, tools: [
      searchField(context, "text", "State, tactic, theorem or attempt"),
      choice(context, "source", "Source", [["", "all of the buffer"], ...SOURCES.map(([name]) => /** @type {[string, string]} */ ([name, name])), ["supervised", "supervised (banks)"]]),
      choice(context, "order", "Order", [["newest", "newest first"], ["oldest", "oldest first"], ["uses", "most used first"], ["steps", "longest proof first"]]),
      some, all,
    ] }, rows.node, pages.node);
    const bySource = card("Where rows come from", { note: "of the buffer" }, sources), byAge = card("How old they are", { note: "since the weights that found them" }, ages.node);
    root.append(heading("Data"), numbers, words, bySource, byAge, row.node, list);
    for (const node of [bySource, byAge, list]) node.hidden = true;
    rows.node.addEventListener("click", (event) => { // a row opens on this page, which stays as it is
      const link = event.target instanceof Element ? event.target.closest("a") : null;
      if (!link || link.pathname !== location.pathname || event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      const wanted = new URLSearchParams(link.search);
      context.setQuery({ row: wanted.get("row") ?? undefined, bank: wanted.get("bank") ?? undefined });
      row.node.hidden = false;
      row.node.scrollIntoView({ block: "nearest" });
    });
    let read = false;
    return {
      async refresh() {
        if (!read) fill(words, empty("The buffer is being read. The first time takes a second for each 20,000 rows."));
        const query = context.query, asked = ["text", "source", "order", "sample", "seed"].map((name) => [name, query.get(name) ?? undefined]);
        const [data] = await Promise.all([
          context.get("replay", { ...Object.fromEntries(asked), from: pages.from() || undefined, limit: pages.size }).catch((error) => {
            if (!read) fill(words);
            throw error;
          }),
          row.refresh()]);
        read = true;
        const has = data.rows !== undefined;
        for (const node of [bySource, byAge, list]) node.hidden = !has;
        fill(words, has ? null : none(data.kind, context));
        if (!has) return;
        fill(numbers, tiles([
          { value: number(data.rows_in_all), label: `rows, in a window of ${number(data.window)}` },
          { value: number(data.ages.mean), label: "steps old, mean" },
          { value: number(data.never_used), label: "rows not yet trained on", title: "At the latest checkpoint; held-out ones never are" },
          { value: number(data.sources.supervised), label: `supervised rows of banks, ${percent(data.supervised_share)} of a batch`, title: "Not in the buffer" },
        ]));
        showSources(sources, data);
        const { width, counts } = data.ages;
        ages.set(SOURCES.filter(([name]) => counts[name]).map(([name, , colour]) => ({ name, colour,
          points: counts[name].map((/** @type {number} */ rows, /** @type {number} */ place) => [place * width, rows]) })));
        rows.set(data.rows);
        const sample = Number(query.get("sample"));
        pages.node.hidden = sample > 0;
        all.hidden = !sample;
        fill(about, sample ? `${number(data.rows.length)} drawn at random of ${number(data.total)}, seed ${number(Number(query.get("seed") ?? 0))}` : "");
        pages.set(data.total, data.rows.length);
      },
      close: () => ages.close(),
    };
  },
};

/** This page's address with other parameters. @param {Record<string, string | number | undefined>} changes */
function here(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) value === undefined ? query.delete(name) : query.set(name, String(value));
  return `${location.pathname}?${query}`;
}

/** @param {HTMLElement} where @param {any} data */
function showSources(where, data) {
  const parts = SOURCES.map(([name, text, colour]) => ({ name, text, colour, value: data.sources[name] ?? 0, shown: number(data.sources[name] ?? 0) }));
  const whole = data.rows_in_all || 1, some = parts.filter((each) => each.value > 0);
  if (!some.length) {
    fill(where, empty("The buffer is empty: no proof has been verified yet."));
    return;
  }
  fill(where, stack(parts, "Rows by source"), h("table", null, h("caption", { class: "unseen" }, "Rows by source"),
    h("thead", null, h("tr", null, ["source", "rows", "share"].map((each, place) => h("th", { scope: "col", class: place ? "number" : "" }, each)))),
    h("tbody", null, some.map((each) => h("tr", null, h("td", null, h("span", { class: `swatch c${each.colour}` }), each.text), h("td", { class: "number" }, each.shown), h("td", { class: "number" }, percent(each.value / whole)))))));
}

/** The card of one row. @param {import("../types").Context} context */
function rowCard(context) {
  const inside = h("div"), title = h("span");
  const close = h("button", { on: { click: () => context.setQuery({ row: undefined, bank: undefined }) } }, "Close");
  const node = card("One row as the model reads it", { wide: true, note: title, tools: close }, inside);
  node.hidden = true;
  return {
    node,
    async refresh() {
      const asked = context.query.get("row");
      node.hidden = asked === null;
      if (asked === null) return;
      try {
        const data = await context.get("replay-row", { number: asked, supervised: context.query.get("bank") ?? undefined });
        fill(title, `#${data.number}`);
        fill(inside, showRow(data, context));
      } catch (error) {
        fill(title, `#${shortened(asked, 20)}`);
        fill(inside, empty(`${error instanceof Error ? error.message : error}`));
      }
    },
  };
}

/** @param {any} data @param {import("../types").Context} context */
function showRow(data, context) {
  const link = (/** @type {string} */ to, /** @type {string} */ id) => h("a", { href: context.href(to, id) }, shortened(id, 80));
  /** @type {[string, import("../types").Child][]} */
  const about = [["source", data.source], ["value's target", count(data.steps, "remaining step")]];
  if (data.theorem) {
    about.push(["theorem", link("theorem", data.theorem)], ["attempt", [link("attempt", data.attempt), ` (${data.purpose})`]], ["recorded", moment(data.recorded)],
      ["age", data.age === null ? "not known" : count(data.age, "training step")], ["trained on", count(data.uses, "time")], ["weight", number(data.weight)]);
  }
  const parts = data.unread ? [empty(`Text as it was recorded; ${data.unread}`), h("h3", null, "State"), lean(data.state), h("h3", null, "Tactic"), lean(data.tactic)]
    : data.left_out ? [empty("Left out of training: its tactic has too many tokens."), lean(data.state), lean(data.tactic)]
      : ["input", "target"].map((name) => [h("h3", null, name === "input" ? "Input" : "Target", h("span", { class: "quiet" }, ` ${count(data[name].count, "token")}, tokenizer of ${data.checkpoint}`)),
        lean(data[name].text), tokens(data[name])]);
  return [facts(about), parts];
}

/** Each token with its number. @param {{tokens: [number, string][], count: number}} part */
function tokens(part) {
  if (!part.tokens.length) return null;
  return h("details", null, h("summary", null, "Tokens"), h("ol", { class: "tokens scroll", tabindex: "0" }, part.tokens.map(([token, text]) =>
    h("li", { title: `token ${token}` }, h("code", null, text.replaceAll("\n", "⏎").replaceAll(" ", "␣") || " "), h("small", null, String(token))))),
  part.tokens.length < part.count ? empty(`the first ${number(part.tokens.length)}`) : null);
}

/** Words for runs without a buffer. @param {string} kind @param {import("../types").Context} context */
function none(kind, context) {
  const link = (/** @type {string} */ to, /** @type {string} */ text) => h("a", { href: context.href(to) }, text);
  if (kind === "self-play") return empty("A run of self-play has no replay buffer: each round chooses its examples. Its rounds and conjectures: ", link("selfplay", "Self-play"), ".");
  if (kind === "training") return empty("A training stage reads its rows from files, not from a replay buffer. How it goes: ", link("training", "Training"), ".");
  return empty("An evaluation trains nothing, so it has no replay buffer. What it measured: ", link("evaluation", "Evaluation"), ".");
}
