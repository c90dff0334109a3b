// Is it learning, is it healthy, what limits it now.
import { fill, h, shortened } from "../lib/dom.js";
import { clock, duration, number, percent } from "../lib/format.js";
import { card, chip, empty, heading, lean, tiles } from "../lib/parts.js";
import { controls } from "../lib/control.js";
import { lineChart } from "../lib/chart.js";
import { table } from "../lib/table.js";

const SPEEDS = ["prover.expansions", "lean-proxy.candidates", "inference.states"];

/** @type {import("../types").Page} */
export const page = {
  title: "Overview",
  uses: ["records", "points", "evaluations"],
  open(root, context) {
    const counters = h("div", { class: "tiles wide" });
    const result = h("div", { class: "tiles" }), resultCard = card("Result", { wide: true }, result);
    const verdict = h("div");
    const health = h("div");
    const solved = lineChart({ title: "Statements solved, by evaluation", xLabel: "training step", yLabel: "share solved", share: true, empty: "No evaluation has ended yet." });
    const levels = lineChart({ title: "Solved by depth", xLabel: "training step", yLabel: "share solved", share: true, empty: "No evaluation has ended yet." });
    const rate = lineChart({ title: "Training attempts that prove their theorem", xLabel: "training step", yLabel: "share", share: true });
    const part = (/** @type {string} */ kind) => table({
      caption: `The latest evaluation by ${kind}`,
      columns: [
        { label: kind, cell: (/** @type {any} */ each) => each.name },
        { label: "solved", number: true, cell: (each) => `${number(each.last.solved)} of ${number(each.last.of)}` },
        { label: "share", number: true, cell: (each) => percent(each.last.rate) },
        { label: "95 % interval", number: true, cell: (each) => `${percent(each.last.low)} to ${percent(each.last.high)}` },
        { label: "since the first", number: true, cell: (each) => (each.gain === null ? "" : `${each.gain > 0 ? "+" : ""}${number(100 * each.gain)} points`) },
      ],
      key: (each) => each.name,
      empty: "No evaluation has ended yet.",
    });
    const families = part("family"), banks = part("bank");
    const byBank = card("By bank", { note: "latest evaluation" }, banks.node);
    byBank.hidden = true;
    const proofs = h("div", { class: "scroll tall", tabindex: "0" });
    resultCard.hidden = true;
    root.append(
      heading("Overview"), counters, resultCard,
      card("What limits it", {}, verdict), card("Is it healthy?", {}, health, h("div", { class: "control" }, controls("learner", ["pause", "resume", "evaluate"]))),
      card("Is it learning?", { note: "95 % intervals over statements, which never train" }, solved.node),
      byBank,
      card("By depth", { note: "levels of the bank" }, levels.node),
      card("Training attempts", {}, rate.node),
      card("By family", { note: "latest evaluation" }, families.node),
      card("Latest proofs", { note: "each checked by Lean's kernel", wide: true }, proofs));
    return {
      async refresh() {
        const [data, curves] = await Promise.all([context.get("overview"), context.get("curves", { names: "solve_rate" })]);
        showCounters(counters, data.counters);
        showResult(resultCard, result, data.summary);
        fill(verdict, h("p", { class: data.verdict.fault === "none" ? "" : "strong" }, data.verdict.text), data.verdict.advice ? h("p", { class: "quiet" }, data.verdict.advice) : null,
          h("p", null, h("a", { href: context.href("why") }, "Where the time goes")));
        showHealth(health, data.sick, context);
        const done = data.evaluations;
        solved.set([
          { name: "all statements", dots: true, points: done.map((/** @type {any} */ e) => [e.step, e.share.rate]), band: done.map((/** @type {any} */ e) => [e.step, e.share.low, e.share.high]) },
        ]);
        levels.set(parts(done, "levels").map(([name, points]) => ({ name: `level ${name}`, dots: true, points })));
        rate.set([{ name: "proved", points: curves.step.map((/** @type {number} */ step, /** @type {number} */ i) => [step, curves.values.solve_rate[i]]) }]);
        families.set(lastParts(done, "families"));
        banks.set(lastParts(done, "banks"));
        byBank.hidden = Object.keys(done[done.length - 1]?.banks ?? {}).length === 0;
        fill(proofs, data.proofs.length ? data.proofs.map((/** @type {any} */ proof) => h("div", { class: "proof" }, lean(proof.lean, 4000),
          h("p", { class: "quiet" }, `${clock(proof.time)} · ${proof.purpose} · ${number(proof.simulations)} simulations · `, h("a", { href: context.href("attempt", proof.attempt_id) }, shortened(proof.theorem_id, 80)))))
          : empty("No verified proof yet."));
      },
    };
  },
};

/** @param {HTMLElement} where @param {Record<string, number>} counted */
function showCounters(where, counted) {
  const shown = [
    ["learner.proofs_verified", "proofs verified", "good"], ["learner.attempts_dispatched", "attempts dispatched"], ["learner.results", "results recorded"],
    ["lean-proxy.proofs_rejected", "rejected by Lean"], ["learner.transitions", "transitions"], ["learner.train_steps", "training steps"],
    ["prover.expansions", "expansions"], ...SPEEDS.map((name) => [`rate.${name}`, `${name.split(".")[1]} / s`]),
  ].filter(([name = ""]) => counted[name] !== undefined);
  fill(where, tiles(shown.map(([name = "", label = "", tone]) => ({ value: number(counted[name]), label, tone: /** @type {any} */ (tone) }))));
}

/** @param {HTMLElement} where @param {HTMLElement} inside @param {any} summary */
function showResult(where, inside, summary) {
  where.hidden = !summary || summary.solved_after === undefined;
  if (where.hidden) return;
  fill(inside, tiles([
    { value: `${number(summary.solved_before)} → ${number(summary.solved_after)}`, label: `of ${number(summary.test_total)} test statements, before and after` },
    { value: `${summary.difference > 0 ? "+" : ""}${number(100 * summary.difference)}`, label: `points, 95 % interval ${number(100 * summary.ci_low)} to ${number(100 * summary.ci_high)}`, tone: summary.ci_low > 0 ? "good" : undefined },
    { value: number(summary.recorded_proofs ?? summary.proofs_verified), label: "proofs recorded" },
    { value: number(summary.proofs_rejected), label: "rejected", tone: summary.proofs_rejected ? "bad" : undefined },
    { value: duration(summary.wall_s), label: "in all" },
  ]));
}

/** @param {HTMLElement} where @param {any[]} sick @param {import("../types").Context} context */
function showHealth(where, sick, context) {
  if (!context.tick?.live) fill(where, empty("No mesh is watched: this run is shown from its files."));
  else if (sick.length === 0) fill(where, h("p", null, chip("ok", "good"), ` ${number(context.tick.alive)} nodes are well.`));
  else {
    fill(where, h("ul", { class: "plain" }, sick.slice(0, 8).map((node) => h("li", null, chip(shortened(node.role, 20), "bad"), " ",
      h("a", { href: context.href("node", node.id) }, shortened(node.id, 60)), ": ", shortened(node.why.join("; "), 300)))),
    sick.length > 8 ? h("p", null, h("a", { href: context.href("nodes") }, `all ${number(sick.length)} sick nodes`)) : null);
  }
}

/** Shares of each part over the evaluations. @param {any[]} evaluations @param {string} kind @returns {[string, [number, number][]][]} */
function parts(evaluations, kind) {
  const names = [...new Set(evaluations.flatMap((each) => Object.keys(each[kind] ?? {})))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return names.map((name) => [name, evaluations.filter((each) => each[kind]?.[name]).map((each) => [each.step, each[kind][name].rate])]);
}

/** @param {any[]} evaluations @param {"families" | "banks"} kind */
function lastParts(evaluations, kind) {
  const [first, last] = [evaluations[0], evaluations[evaluations.length - 1]];
  if (!last?.[kind]) return [];
  return Object.keys(last[kind]).sort().map((name) => ({ name, last: last[kind][name],
    gain: first !== last && first[kind]?.[name] ? last[kind][name].rate - first[kind][name].rate : null }));
}
