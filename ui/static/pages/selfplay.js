// Self-play: rounds of conjecturing and proving, and what became of each conjecture.
import { fill, h, shortened } from "../lib/dom.js";
import { duration, number, percent } from "../lib/format.js";
import { card, choice, chip, empty, heading, laterChoice, lean, pager, searchField, tiles } from "../lib/parts.js";
import { lineChart } from "../lib/chart.js";
import { table } from "../lib/table.js";

/** How far a conjecture gets, the furthest first, in words; and its tone. @type {[string, string, string][]} */
const FATES = [
  ["proved", "proved", "good"], ["elaborated", "elaborates, not proved", "accent"], ["not elaborated", "does not elaborate", "warn"],
  ["known", "known already", ""], ["refused", "no statement", ""], ["cut", "cut off", ""], ["surplus", "more than needed", ""], ["new", "still to see", ""],
];
const COLOURS = [2, 0, 1, 3, 5, 7, 6, 4];

/** @type {import("../types").Page} */
export const page = {
  title: "Self-play",
  uses: ["records"],
  open(root, context) {
    const numbers = h("div", { class: "tiles wide" }), words = h("div", { class: "wide" });
    const solved = lineChart({ title: "Statements solved by proofs sampled", xLabel: "proofs sampled", yLabel: "statements solved", zero: true, empty: "No proof has been sampled yet." });
    const fates = lineChart({ title: "What became of the conjectures", xLabel: "round", yLabel: "conjectures", zero: true, bars: true, empty: "No round has conjectured yet." });
    const shares = lineChart({ title: "Shares of conjectures", xLabel: "round", yLabel: "share", share: true, empty: "No round has conjectured yet." });
    const tests = lineChart({ title: "Evaluations", xLabel: "round", yLabel: "share solved", share: true, empty: "No round was evaluated." });
    const rounds = table({
      caption: "Rounds",
      columns: [
        { label: "round", cell: (/** @type {any} */ each) => name(each), class: "short" },
        { label: "stage", cell: (each) => each.stage },
        { label: "conjectures", number: true, title: "Outputs of the conjecturer", cell: (each) => number(each.made) },
        { label: "elaborate", number: true, title: "Of those that Lean was asked about", cell: (each) => among(each.elaborated, asked(each)) },
        { label: "proved", number: true, title: "Of those that elaborate", cell: (each) => among(each.proved, each.elaborated) },
        { label: "not trivial", number: true, title: "Proved by few of their samples: barely proved", cell: (each) => among(each.barely, each.proved) },
        { label: "tried", number: true, title: "Train statements with an attempt", cell: (each) => number(each.tried) },
        { label: "newly solved", number: true, cell: (each) => number(each.newly_solved) },
        { label: "solved", number: true, cell: (each) => `${number(each.solved)} (${percent(each.rate)})` },
        { label: "samples", number: true, cell: (each) => number(each.samples) },
        { label: "trained on", number: true, title: "Proofs and conjectures", cell: (each) => `${number(each.trained_proofs)} + ${number(each.trained_conjectures)}` },
        { label: "time", number: true, cell: (each) => duration(seconds(each)) },
        { label: "most of it", cell: (each) => (each.limited_by ? `${each.limited_by} ${percent(each.seconds[each.limited_by] / seconds(each))}` : ""), class: "short" },
      ],
      key: (each) => String(each.number),
      empty: "No round has begun yet.",
      tall: true,
    });
    const round = laterChoice(context, "round", "Round"), pages = pager(context, 50), story = storyCard(context);
    const rows = table({
      caption: "Conjectures, the newest first",
      columns: [
        { label: "conjecture", cell: (/** @type {any} */ each) => shortened(each.name, 40), class: "name" },
        { label: "round", number: true, cell: (each) => number(each.round) },
        { label: "statement", cell: (each) => h("code", null, shortened(each.statement, 200)), class: "statement" },
        { label: "what became of it", cell: (each) => fateOf(each.fate) },
        { label: "why", cell: (each) => shortened(each.reason, 160), class: "statement" },
        { label: "proofs", number: true, title: "Samples that are verified proofs", cell: (each) => (each.samples ? among(each.correct, each.samples) : "") },
        { label: "seed", cell: (each) => shortened(each.seed, 40), class: "name" },
      ],
      key: (each) => each.name,
      href: (each) => here(each.name),
      empty: "No conjecture is like that.",
    });
    rows.node.addEventListener("click", (event) => { // a conjecture opens on this page, which stays as it is
      const link = event.target instanceof Element ? event.target.closest("a") : null;
      if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      context.setQuery({ name: new URLSearchParams(link.search).get("name") ?? undefined });
      story.node.hidden = false;
      story.node.scrollIntoView({ block: "nearest" });
    });
    const cards = [
      card("Statements solved", { note: "by proofs sampled for statements and conjectures" }, solved.node), card("What became of the conjectures", {}, fates.node),
      card("Shares", { note: "of the step before" }, shares.node), card("Evaluations", { note: "pass@k" }, tests.node),
      card("Rounds", { wide: true }, rounds.node),
      card("Conjectures", { wide: true, tools: [searchField(context, "text", "Text, name or reason"),
        choice(context, "fate", "What became of it", [["", "whatever became of them"], ...FATES.map(([key, text]) => /** @type {[string, string]} */ ([key, text]))]), round.node] }, rows.node, pages.node),
    ];
    root.append(heading("Self-play"), numbers, words, ...cards.slice(0, 5), story.node, ...cards.slice(5));
    for (const each of cards) each.hidden = true;
    return {
      async refresh() {
        const data = await context.get("selfplay");
        const has = data.rounds !== undefined;
        for (const each of cards) each.hidden = !has;
        fill(words, has ? null : none(data.kind, context));
        if (!has) return;
        const query = context.query;
        const [found] = await Promise.all([
          context.get("conjectures", { text: query.get("text") ?? undefined, fate: query.get("fate") ?? undefined, round: query.get("round") ?? undefined, from: pages.from() || undefined, limit: pages.size }),
          story.refresh()]);
        const played = data.rounds.filter((/** @type {any} */ each) => each.made > 0), last = data.rounds.at(-1);
        const made = sum(played, "made"), elaborated = sum(played, "elaborated"), proved = sum(played, "proved");
        fill(numbers, tiles([
          { value: `${number(data.solved)} of ${number(data.statements)}`, label: "train statements solved" },
          { value: number(data.samples), label: "proofs sampled" },
          { value: number(made), label: "conjectures" },
          { value: percent(elaborated / (played.reduce((/** @type {number} */ all, /** @type {any} */ each) => all + asked(each), 0) || NaN)), label: "of those seen by Lean elaborate" },
          { value: number(proved), label: `proved, ${number(sum(played, "barely"))} of them by fewer than ${percent(data.barely)} of samples`, tone: "good" },
          { value: last ? name(last) : "none yet", label: data.finished ? "last round; the run is finished" : last ? (last.stage === "done" ? "last round, done" : `round at work, ${last.stage}`) : "rounds" },
        ]));
        solved.set([{ name: "solved", points: data.curve, dots: data.curve.length < 30 }]);
        fates.set(FATES.map(([key, text], place) => ({ name: text, colour: COLOURS[place], points: played.map((/** @type {any} */ each) => [each.number, each.fates[key] ?? 0]) }))
          .filter((line) => line.points.some((/** @type {[number, number]} */ [, value]) => value > 0)));
        const share = (/** @type {(each: any) => number} */ some, /** @type {(each: any) => number} */ whole) => played.map((/** @type {any} */ each) => [each.number, whole(each) ? some(each) / whole(each) : null]);
        shares.set(played.length ? [
          { name: "elaborate, of those seen by Lean", dots: true, points: share((each) => each.elaborated, asked) },
          { name: "proved, of those that elaborate", dots: true, points: share((each) => each.proved, (each) => each.elaborated) },
          { name: "not trivial, of those proved", dots: true, points: share((each) => each.barely, (each) => each.proved) },
        ] : []);
        tests.set(evaluations(data.rounds));
        rounds.set([...data.rounds].reverse());
        round.set([["", "all rounds"], ...played.map((/** @type {any} */ each) => /** @type {[string, string]} */ ([String(each.number), `round ${each.number}`])).reverse()]);
        rows.set(found.rows);
        pages.set(found.total, found.rows.length);
      },
      close: () => [solved, fates, shares, tests].forEach((each) => each.close()),
    };
  },
};

/** @param {any} round */
const name = (round) => (round.kind === "round" ? `round ${round.number}` : `${round.kind} (${round.number})`);
/** @param {any} round */
const seconds = (round) => Object.values(round.seconds).reduce((/** @type {number} */ all, each) => all + Number(each), 0);
/** Conjectures that Lean has seen. @param {any} round */
const asked = (round) => round.elaborated + (round.fates["not elaborated"] ?? 0);
/** @param {number} some @param {number} whole */
const among = (some, whole) => (whole ? `${number(some)} of ${number(whole)}` : number(some));
/** @param {any[]} rounds @param {string} key */
const sum = (rounds, key) => rounds.reduce((all, each) => all + each[key], 0);
/** @param {string} fate */
function fateOf(fate) {
  const [, text, tone] = FATES.find(([key]) => key === fate) ?? ["", fate, ""];
  return chip(text, tone);
}

/** This page's address with a conjecture. @param {string} chosen */
function here(chosen) {
  const query = new URLSearchParams(location.search);
  query.set("name", chosen);
  return `${location.pathname}?${query}`;
}

/** A line for each pass@k of each evaluation. @param {any[]} rounds @returns {import("../types").Line[]} */
function evaluations(rounds) {
  /** @type {Map<string, [number, number][]>} */
  const lines = new Map();
  for (const each of rounds) {
    for (const [of_, numbers] of Object.entries(each.evaluations)) {
      for (const [key, value] of Object.entries(numbers)) {
        if (!key.startsWith("pass@")) continue;
        const line = `${of_} ${key}`;
        lines.set(line, [...(lines.get(line) ?? []), [each.number, Number(value)]]);
      }
    }
  }
  return [...lines].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })).slice(0, 8).map(([key, points]) => ({ name: shortened(key, 40), points, dots: true }));
}

/** The history of one conjecture. @param {import("../types").Context} context */
function storyCard(context) {
  const inside = h("div"), title = h("span");
  const node = card("History of a conjecture", { wide: true, note: title, tools: h("button", { on: { click: () => context.setQuery({ name: undefined }) } }, "Close") }, inside);
  node.hidden = true;
  return {
    node,
    async refresh() {
      const chosen = context.query.get("name");
      node.hidden = chosen === null;
      if (chosen === null) return;
      fill(title, shortened(chosen, 80));
      try {
        const data = await context.get("conjecture", { name: chosen });
        fill(inside, h("dl", { class: "facts" }, data.paragraphs.map((/** @type {[string, string]} */ [label, text]) =>
          [h("dt", null, label), h("dd", null, text.includes("\n") || /theorem |example /.test(text) ? lean(text) : text)])));
      } catch (error) {
        fill(inside, empty(`${error instanceof Error ? error.message : error}`));
      }
    },
  };
}

/** Words for runs without self-play. @param {string} kind @param {import("../types").Context} context */
function none(kind, context) {
  const [to, text] = kind === "training" ? ["training", "Training"] : kind === "evaluation" ? ["evaluation", "Evaluation"] : ["theorems", "Theorems"];
  const why = kind === "training" ? "A training stage makes no conjectures. How it goes: " : kind === "evaluation" ? "An evaluation makes no conjectures. What it measured: "
    : "This run learns from the theorems of its banks and makes no conjectures; `proofmesh stp run` begins a run of self-play. Its theorems: ";
  return empty(why, h("a", { href: context.href(to ?? "") }, text), ".");
}
