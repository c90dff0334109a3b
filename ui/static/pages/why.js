// Where the time goes: what makes the run slow, the parts of the attempts' time, who worked when, the slowest attempts.
import { lineChart } from "../lib/chart.js";
import { fill, h, shortened } from "../lib/dom.js";
import { clock, duration, number, percent } from "../lib/format.js";
import { card, chip, choice, dot, empty, heading, legend, partStyle, stack } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { shortName } from "./nodes.js";

/** @typedef {import("../types").Context} Context */

const SLOWLY = 5000; // milliseconds between two looks at what changes slowly
const COLOURS = /** @type {Record<string, number>} */ ({ play: 2, policy: 0, lean: 3, verify: 6, store: 4 });
const KINDS = /** @type {Record<string, string>} */ ({ play: "searches", policy: "policy", lean: "Lean: tactics", verify: "Lean: verification", store: "records" });

/** @type {import("../types").Page} */
export const page = {
  title: "Why slow",
  uses: ["records", "nodes", "spans"],
  open(root, context) {
    const words = empty(), verdict = h("div"), bar = h("div"), full = h("p", { class: "strong" });
    const evidence = evidenceTable(), parts = partsTable(), resources = resourcesTable(), slowest = slowestTable(context), lanes = lanesTable(context);
    const course = lineChart({ title: "Share of the attempts' time, by part", x: "time", xLabel: "time of recording", yLabel: "share of time", share: true, empty: "No attempt has a result yet." });
    const note = h("span"), laneNote = h("span"), slowWords = empty();
    const tools = [choice(context, "of", "Which attempts", [["lately", "of the last minutes"], ["run", "of the whole run"]]), choice(context, "by", "By which time", [["all", "from dispatch to record"], ["played", "since a prover took it"]])];
    const cards = [
      card("What limits it", { wide: true }, verdict, evidence.node),
      card("Where the time of an attempt goes", { note, wide: true }, bar, parts.node),
      card("The one resource that is full", { wide: true }, full, resources.node),
      card("Over the run", { wide: true, note: "the parts that take most" }, course.node),
      card("Who worked when", { note: laneNote, wide: true }, lanes.node),
      card("Slowest attempts", { wide: true, tools }, slowWords, slowest.node),
    ];
    for (const each of cards) each.hidden = true;
    root.append(heading("Why slow"), words, ...cards);
    let looked = -Infinity;
    return {
      async refresh() {
        const data = await context.get("why", { of: context.query.get("of") ?? undefined, by: context.query.get("by") ?? undefined });
        const other = data.kind !== "learner" && data.kind !== "mesh";
        const none = other || (data.attempts === 0 && data.verdict.fault === "none" && !data.slowest?.length);
        words.hidden = !none;
        for (const each of cards) each.hidden = none;
        if (none) return void fill(words, other ? `This run has no attempts whose time could be split: it is a ${data.kind} run. A learner in a mesh records them.` : "No attempt has a timeline yet: parts of its time are known once its result is recorded.");
        fill(verdict, h("p", { class: data.verdict.fault === "none" ? "good" : "bad strong" }, data.verdict.text), data.verdict.advice ? h("p", null, data.verdict.advice) : null,
          h("p", { class: "quiet" }, `${number(data.attempts)} attempts that were recorded in ${data.live ? "the" : "its"} last ${duration(data.seconds)}. A share counts from ${percent(data.much.share)}; of Lean and inference, also a wait of ${duration(data.much.seconds)}.`));
        evidence.set(data.evidence);
        fill(note, `${number(data.attempts)} attempts, from dispatch to record`);
        showParts(bar, data.parts);
        parts.set(data.parts);
        fill(full, data.full || "Not known: no attempt was recorded lately.");
        resources.set(data.resources);
        slowWords.hidden = data.slowest !== null;
        fill(slowWords, "The records are on the machine of the learner, not here.");
        slowest.set(data.slowest ?? []);
        if (performance.now() - looked < SLOWLY) return;
        looked = performance.now();
        const [over, worked] = await Promise.all([context.get("why_course"), context.get("lanes")]);
        course.set(lines(over, data.parts));
        fill(laneNote, worked.lanes.length ? `traced attempts, ${clock(worked.end - worked.seconds)} to ${clock(worked.end)}${worked.count > worked.lanes.length ? `; ${number(worked.lanes.length)} of ${number(worked.count)} lanes` : ""}` : "");
        lanes.set(worked.lanes);
      },
      close() {
        course.close();
      },
    };
  },
};

/** The parts with the largest shares as lines. @param {any} over @param {any[]} parts */
function lines(over, parts) {
  const names = new Map(parts.map((each) => [each.part, each.name]));
  const most = Object.entries(over.shares).map(([part, shares]) => ({ part, shares, sum: shares.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0) }))
    .sort((a, b) => b.sum - a.sum).slice(0, 6).filter((each) => each.sum > 0);
  return most.map(({ part, shares }) => ({ name: names.get(part) ?? part.replaceAll("_", " "), colour: partStyle(part).colour, dashed: partStyle(part).waits,
    points: over.time.map((/** @type {number} */ time, /** @type {number} */ place) => [time, shares[place]]) }));
}

/** @param {HTMLElement} where @param {any[]} parts */
function showParts(where, parts) {
  const shown = parts.map((each) => ({ ...partStyle(each.part), name: each.name, value: each.seconds, shown: `${percent(each.share)}, ${duration(each.seconds)} each` }));
  fill(where, stack(shown, "Where the time goes"), legend(shown.filter((each) => each.value > 0)));
}

/** @param {boolean} yes @param {string} words */
const mark = (yes, words) => (yes ? chip(words, "bad") : "");

const evidenceTable = () => table({
  caption: "What the verdict follows from",
  columns: [
    { label: "what takes time", cell: (/** @type {any} */ each) => [each.name, " ", mark(each.counts, "slow")] },
    { label: "share", number: true, title: "Of the time of search slots and of results that wait", cell: (each) => percent(each.share) },
    { label: "seconds", number: true, cell: (each) => duration(each.seconds) },
    { label: "of each", cell: (each) => (each.fault === "lean" || each.fault === "inference" ? "expansion" : "attempt") },
  ],
  key: (each) => each.fault,
  empty: "No attempt was recorded lately.",
});

const partsTable = () => table({
  caption: "Parts of the time of an attempt",
  columns: [
    { label: "part", class: "line", cell: (/** @type {any} */ each) => [h("span", { class: `swatch c${partStyle(each.part).colour} ${partStyle(each.part).waits ? "waits" : ""}` }), each.name] },
    { label: "share", number: true, cell: (each) => percent(each.share) },
    { label: "each attempt", number: true, cell: (each) => duration(each.seconds) },
    { label: "what it is, and what makes it shorter", class: "narrow", cell: (each) => each.advice },
  ],
  key: (each) => each.part,
  tone: (each) => (each.share >= 0.1 ? "" : "gone"),
});

const resourcesTable = () => table({
  caption: "How full each resource is",
  columns: [
    { label: "resource", class: "line", cell: (/** @type {any} */ each) => [each.name, " ", mark(each.full, "full")] },
    { label: "nodes", number: true, cell: (each) => number(each.nodes || null) },
    { label: "in use", number: true, cell: (each) => (each.has === null ? "–" : each.used === null ? `of ${number(each.has)}` : `${number(each.used)} of ${number(each.has)}`) },
    { label: "waiting", number: true, title: "Attempts, requests, proofs or results that wait for it at a time", cell: (each) => number(each.nodes ? each.queue : null) },
    { label: "an attempt waits", number: true, cell: (each) => duration(each.waits) },
    { label: "and has it for", number: true, cell: (each) => duration(each.runs) },
  ],
  key: (each) => each.name,
  empty: "Not known.",
});

/** @param {Context} context */
const lanesTable = (context) => table({
  caption: "Who worked when",
  columns: [
    { label: "node", class: "short", cell: (/** @type {any} */ each) => h("span", { title: shortened(each.node, 200) }, shortName(each.node)) },
    { label: "work", class: "line", cell: (each) => [h("span", { class: `swatch c${COLOURS[each.kind] ?? 7}` }), KINDS[each.kind] ?? each.kind] },
    { label: "when", class: "lanes", cell: (each) => lane(each) },
    { label: "busy", number: true, title: "Share of the time in which it did some of this work", cell: (each) => percent(each.busy) },
    { label: "at a time", number: true, title: "Mean and most at the same time", cell: (each) => `${number(each.mean)}, most ${number(each.most)}` },
  ],
  key: (each) => `${each.node} ${each.kind}`,
  href: (each) => context.href("node", each.node),
  empty: "No spans: no attempt was traced, or they are on the machine of the learner ([learner] trace says which share is traced).",
});

/** How much was at work over time: the more, the darker. @param {any} each */
function lane(each) {
  const runs = [...each.levels.matchAll(/(\d)\1*/g)].map((found) => ({ level: Number(found[1]), length: found[0].length }));
  return h("div", { class: "lane", role: "img", "aria-label": `busy ${percent(each.busy)} of the time` }, runs.map(({ level, length }) =>
    h("span", { class: `c${COLOURS[each.kind] ?? 7}`, style: { "flex-grow": String(length), opacity: level ? String(0.25 + level / 12) : "0" } })));
}

/** @param {Context} context */
const slowestTable = (context) => table({
  caption: "Slowest attempts",
  columns: [
    { label: "attempt", class: "short", cell: (/** @type {any} */ each) => shortened(each.id, 40) },
    { label: "theorem", class: "short", cell: (each) => h("a", { href: context.href("theorem", each.theorem) }, shortened(each.theorem, 60)) },
    { label: "outcome", cell: (each) => dot(each.outcome) },
    { label: "recorded", class: "line", cell: (each) => clock(each.recorded) },
    { label: "time", number: true, cell: (each) => duration(Object.values(each.parts).reduce((sum, seconds) => sum + Number(seconds), 0)) },
    { label: "where it went", class: "lanes", cell: (each) => stack(Object.entries(each.parts).map(([part, seconds]) => ({ ...partStyle(part), name: part.replaceAll("_", " "), value: Number(seconds), shown: duration(seconds) })), "Its time") },
  ],
  key: (each) => each.id,
  href: (each) => context.href("attempt", each.id),
  empty: "No attempt has a timeline yet.",
});
