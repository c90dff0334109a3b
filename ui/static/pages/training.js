// How training goes: curves of the warm start and of what follows, and the versions of the weights.
import { fill, h, shortened } from "../lib/dom.js";
import { count, duration, moment, number, percent } from "../lib/format.js";
import { card, empty, heading, tiles } from "../lib/parts.js";
import { lineChart } from "../lib/chart.js";
import { table } from "../lib/table.js";

/**
 * A chart and its curves, by their names in metrics.jsonl.
 * @typedef {{title: string, note?: string, y: string, names: Record<string, string>, share?: boolean, log?: boolean, zero?: boolean}} Spec
 */

/** @type {Spec[]} */
const CHARTS = [
  { title: "Loss", note: "what training makes small: policy and weighted value", y: "nats", names: { loss: "training", valid_loss: "validation" } },
  { title: "Policy loss", note: "the right tactic's tokens", y: "nats a token", names: { policy_loss: "training", valid_policy_loss: "validation" } },
  { title: "Value loss", note: "steps to the proof, as one of the value's bins", y: "nats a state", names: { value_loss: "training", valid_value_loss: "validation" } },
  { title: "Error of the value", note: "predicted minus true steps, and its size", y: "proof steps", names: {
    value_error: "size, training", valid_value_error: "size, validation", value_bias: "bias, training", valid_value_bias: "bias, validation" } },
  { title: "Calibration of the value", note: "expected error of its confidence", y: "share", share: true, names: { value_calibration: "training", valid_value_calibration: "validation" } },
  { title: "Accuracy", note: "greedily", y: "share right", share: true, names: {
    tactic_accuracy: "whole tactic, training", valid_tactic_accuracy: "whole tactic, validation", first_token_accuracy: "first token, training",
    valid_first_token_accuracy: "first token, validation", token_accuracy: "token, training", valid_token_accuracy: "token, validation" } },
  { title: "Bits per byte", y: "bits a byte of text", names: { bits_per_byte: "training", valid_bits_per_byte: "validation" } },
  { title: "Gate", note: "chance that K samples have the right tactic; who loses much is not published", y: "chance", share: true,
    names: { held_out: "these weights", held_out_best: "best published weights" } },
  { title: "Age of replayed transitions", note: "since the weights that found them", y: "training steps", zero: true, names: { replay_age_steps: "mean of batches" } },
  { title: "Uses of replayed transitions", note: "times that one was trained on", y: "times", zero: true, names: { replay_uses_mean: "mean", replay_uses_max: "most" } },
  { title: "Training attempts that prove their theorem", y: "share", share: true, names: { solve_rate: "proved" } },
  { title: "Found so far", y: "number", zero: true, names: { transitions: "transitions", proofs_verified: "verified proofs" } },
  { title: "Learning rate", note: "factor of the highest", y: "factor", share: true, names: { rate_factor: "factor" } },
  { title: "Gradient norm", note: "before clipping", y: "norm", names: { gradient_norm: "all ranks" } },
  { title: "Speed of training", y: "tokens a second", zero: true, names: { tokens_per_s: "all ranks" } },
  { title: "Time of a step", y: "seconds", zero: true, names: { step_s: "step" } },
  { title: "Use of the hardware", y: "share", share: true, names: { mfu: "of its peak (MFU)" } },
  { title: "Pauses of search", note: "for training, on the same GPU", y: "share of the time", share: true, names: { pause_fraction: "paused" } },
  { title: "Speed of search", y: "expansions a second", zero: true, names: { expansions_per_s: "all provers" } },
  { title: "Tokens of a step", y: "predicted tokens", zero: true, names: { tokens: "training" } },
];

/** The warm start reports the value's loss with the validation only. @type {Spec[]} */
const WARM = [
  { title: "Warm start: loss", note: "supervised, until validation gains no more", y: "nats", names: { loss: "training", valid_loss: "validation" } },
  { title: "Warm start: policy loss", y: "nats a token", names: { policy_loss: "training" } },
  { title: "Warm start: value loss", y: "nats a state", names: { value_loss: "validation" } },
];
const MOST_OTHERS = 12;

/** @type {import("../types").Page} */
export const page = {
  title: "Training",
  uses: ["points", "records"],
  open(root, context) {
    const numbers = h("div", { class: "tiles wide" }), words = h("div", { class: "wide" });
    const versions = table({
      caption: "Versions of the weights, the newest first",
      columns: [
        { label: "version", number: true, cell: (/** @type {any} */ each) => number(each.version) },
        { label: "step", number: true, cell: (each) => number(each.step) },
        { label: "age", number: true, cell: (each) => duration(each.age), title: "Since it was published" },
        { label: "published", cell: (each) => moment(each.created) },
        { label: "attempts", number: true, cell: (each) => number(each.results), title: "Attempts that ended with it" },
        { label: "proved", number: true, cell: (each) => (each.results ? `${number(each.proved)} (${percent(each.proved / each.results)})` : "") },
        { label: "digest", class: "mono", cell: (each) => shortened(each.digest, 12) },
      ],
      key: (each) => String(each.version),
      empty: "No weights are published yet.",
      tall: true,
    });
    const some = h("span", { class: "quiet" }), versionsCard = card("Versions of the weights", { wide: true, tools: some }, versions.node);
    versionsCard.hidden = true;
    root.append(heading("Training"), numbers, words, versionsCard);
    const main = charts(root, versionsCard), warm = charts(root, null);
    return {
      async refresh() {
        const data = await context.get("training");
        const learner = data.kind === "learner";
        fill(numbers, tiles(shown(data)));
        main.set(CHARTS, data.curves);
        warm.set(WARM, data.warm);
        versionsCard.hidden = !learner;
        versions.set(data.versions);
        fill(some, data.all_versions > data.versions.length ? `the newest ${number(data.versions.length)} of ${number(data.all_versions)}` : count(data.all_versions, "version"));
        fill(words, nothing(data, context));
      },
      close() {
        main.close();
        warm.close();
      },
    };
  },
};

/** The numbers above the curves. @param {any} data */
function shown(data) {
  /** @type {{value: import("../types").Child, label: string, title?: string}[]} */
  const all = [];
  const { progress, versions } = data;
  if (progress) {
    all.push({ value: shortened(progress.stage, 40), label: "stage" }, { value: number(progress.parameters), label: "parameters" },
      { value: `${number(data.step ?? 0)} of ${number(progress.steps)}`, label: "steps" },
      progress.done ? { value: "done", label: "all steps are taken" } : { value: progress.left === null ? "not known" : duration(progress.left), label: "left at the latest pace" });
  } else if (data.step !== null) all.push({ value: number(data.step), label: "training steps" });
  const last = (/** @type {string} */ name) => data.curves[name]?.at(-1)?.[1] ?? data.warm[name]?.at(-1)?.[1];
  for (const [name, label] of [["loss", "loss"], ["valid_loss", "validation loss"], ["tokens_per_s", "tokens / s"]]) {
    if (last(name ?? "") !== undefined) all.push({ value: number(last(name ?? "")), label: `${label}, latest` });
  }
  if (versions[0]) all.push({ value: number(versions[0].version), label: `version of the weights, ${duration(versions[0].age)} old` });
  if (data.last !== null) all.push({ value: data.time - data.last < 86400 ? `${duration(data.time - data.last)} ago` : moment(data.last), label: "latest report" });
  return all;
}

/** Words where there are no curves. @param {any} data @param {import("../types").Context} context */
function nothing(data, context) {
  const link = (/** @type {string} */ to, /** @type {string} */ text) => h("a", { href: context.href(to) }, text);
  if (Object.keys(data.curves).length) return null;
  if (Object.keys(data.warm).length) return empty("The warm start goes on: supervised training, before the first evaluation.");
  if (data.kind === "evaluation") return empty("An evaluation trains nothing. What it measured: ", link("evaluation", "Evaluation"), ".");
  if (data.kind === "self-play") return empty("A run of self-play reports its training by round: ", link("selfplay", "Self-play"), ".");
  if (data.progress) return empty("The first step has not been reported yet.");
  return empty("No training step has been reported yet. What the run does now: ", link("overview", "Overview"), ".");
}

/**
 * Charts that appear when they have points; a curve of no chart gets one of its own.
 * @param {HTMLElement} root @param {HTMLElement | null} before
 */
function charts(root, before) {
  /** @type {Map<string, {node: HTMLElement, chart: ReturnType<typeof lineChart>}>} */
  const known = new Map();
  return {
    /** @param {Spec[]} specs @param {Record<string, [number, number][]>} curves */
    set(specs, curves) {
      const named = new Set(specs.flatMap((spec) => Object.keys(spec.names)));
      const others = Object.keys(curves).filter((name) => !named.has(name)).sort().slice(0, MOST_OTHERS);
      /** @type {Spec[]} */
      const all = [...specs, ...others.map((name) => ({ title: shortened(name, 60), y: "", names: { [name]: shortened(name, 60) } }))];
      /** @type {HTMLElement | null} */
      let last = null;
      for (const spec of all) {
        const lines = Object.entries(spec.names).map(([name, label], colour) => ({ name: label, colour, points: curves[name] ?? [], dots: (curves[name]?.length ?? 0) < 12 })).filter((line) => line.points.length);
        let mine = known.get(spec.title);
        if (!lines.length && !mine) continue;
        if (!mine) {
          const chart = lineChart({ ...spec, xLabel: "training step", yLabel: spec.y });
          mine = { chart, node: card(spec.title, { note: spec.note }, chart.node) };
          known.set(spec.title, mine);
          if (last) last.after(mine.node);
          else root.insertBefore(mine.node, before);
        }
        mine.node.hidden = !lines.length;
        mine.chart.set(lines);
        last = mine.node;
      }
    },
    close() {
      for (const { chart } of known.values()) chart.close();
    },
  };
}
