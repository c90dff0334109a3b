// One attempt: what it was, and where its time went, from dispatch to record.
import { fill, h, shortened } from "../lib/dom.js";
import { queryOf } from "../lib/api.js";
import { clock, duration, moment, number, percent } from "../lib/format.js";
import { card, dot, empty, facts, heading, lean, legend, partStyle, stack } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { showProofs } from "./theorem.js";

const SHOWN = 100; // spans at first

/** @type {import("../types").Page} */
export const page = {
  title: "Attempt",
  uses: ["records", "logs", "spans"],
  open(root, context) {
    const id = context.rest[0] ?? "";
    const about = h("div"), statement = h("div"), time = h("div"), proof = h("div"), links = h("p", { class: "tools" });
    const proofCard = card("Proof", { wide: true, note: "checked by Lean's kernel" }, proof);
    const spans = h("div"), spansCard = card("What it waited for", { wide: true, note: "seconds from its dispatch; each node has its own clock" }, spans);
    const logs = table({
      caption: "Log records about this attempt",
      columns: [
        { label: "time", cell: (/** @type {any} */ each) => clock(each.time) },
        { label: "level", cell: (each) => each.level },
        { label: "node", cell: (each) => shortened(each.node, 40), class: "name" },
        { label: "event", cell: (each) => h("span", null, shortened(each.event, 500), h("span", { class: "quiet" }, ` ${shortened(Object.entries(each.fields).map(([name, value]) => `${name}=${value}`).join(" "), 500)}`)) },
      ],
      key: (each) => JSON.stringify(each),
      empty: "No node has logged anything about it.",
      tall: true,
    });
    let limit = SHOWN;
    root.append(heading(`Attempt ${shortened(id, 100)}`), links, card("Facts", {}, about), card("Statement", {}, statement),
      card("Where its time went", { wide: true, note: "from dispatch to record" }, time), proofCard, spansCard, card("Log", { wide: true }, logs.node));
    links.classList.add("wide");
    [proofCard.hidden, spansCard.hidden] = [true, true];
    return {
      async refresh() {
        const data = await context.get("attempt", { id });
        const live = data.recorded === null && context.tick?.live ? (await context.get("at_work")).rows.find((/** @type {any} */ each) => each.attempt_id === id) : null;
        fill(links, data.kept ? h("a", { href: context.href("search", id) }, "Its search, state by state")
          : live ? h("a", { href: `${context.href("search", id)}${queryOf({ prover: live.prover })}` }, "Its search, as it goes on")
            : h("span", { class: "quiet" }, data.recorded === null ? "Nobody searches it at this moment." : "Its search was not kept."),
          h("a", { href: context.href("theorem", data.theorem_id) }, "Its theorem"));
        fill(about, facts([
          ["outcome", h("span", null, dot(data.outcome), data.message ? ` ${shortened(data.message, 1000)}` : null)],
          ["theorem", h("a", { href: context.href("theorem", data.theorem_id) }, shortened(data.theorem_id, 100))],
          ["purpose", data.purpose], ["dispatched", moment(data.created)], ["recorded", data.recorded === null ? "no result yet" : `${duration(data.total)} later`],
          ["prover", data.prover_id === null ? "none has answered" : h("a", { href: context.href("node", data.prover_id) }, shortened(data.prover_id, 80))],
          ["simulations", `${number(data.simulations)} of ${number(data.budget)}`], ["expansions", number(data.expansions)],
          ["tactics", `${number(data.lean_attempts)} sent to Lean, ${number(data.tactics_failed)} failed`], ["weights", number(data.weights || null)],
          ["search", `${duration(data.seconds)}; its expansions, which overlap, waited ${duration(data.seconds_policy)} for the policy, ${duration(data.seconds_lean)} for Lean`],
        ]));
        fill(statement, lean(data.statement));
        showParts(time, data);
        proofCard.hidden = data.proofs.length === 0;
        if (data.proofs.length) showProofs(proof, data.proofs, context);
        const [traced, records] = await Promise.all([context.get("attempt_spans", { id }), context.get("attempt_logs", { id })]);
        spansCard.hidden = traced.total === 0;
        const show = () => showSpans(spans, traced, limit, () => {
          limit += 500;
          show();
        });
        show();
        logs.set(records);
      },
    };
  },
};

/** @param {HTMLElement} where @param {any} data */
function showParts(where, data) {
  if (!data.parts) return void fill(where, empty(data.recorded === null ? "It has no result yet." : "Not recorded: an earlier version, or an earlier prover, played it."));
  const whole = data.parts.reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + (each.seconds ?? 0), 0) || 1;
  const parts = data.parts.map((/** @type {any} */ each) => ({ ...partStyle(each.part), name: each.name, value: each.seconds ?? 0, shown: `${duration(each.seconds)}, ${percent(each.seconds / whole)}`, advice: each.advice }));
  const most = parts.reduce((/** @type {any} */ a, /** @type {any} */ b) => (b.value > a.value ? b : a));
  fill(where, stack(parts, "Parts of its time"), legend(parts.filter((/** @type {any} */ each) => each.value > 0)),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Parts of its time" }, h("table", null, h("caption", { class: "unseen" }, "Parts of its time"), h("thead", null, h("tr", null, h("th", { scope: "col" }, "part"), h("th", { scope: "col", class: "number" }, "seconds"), h("th", { scope: "col", class: "number" }, "share"), h("th", { scope: "col" }, "what makes it shorter"))),
      h("tbody", null, parts.map((/** @type {any} */ each) => h("tr", { class: each === most ? "strong" : "" }, h("td", null, h("span", { class: `swatch c${each.colour % 8} ${each.waits ? "waits" : ""}` }), each.name), h("td", { class: "number" }, number(each.value)),
        h("td", { class: "number" }, percent(each.value / whole)), h("td", { class: "quiet" }, each === most ? each.advice : "")))))));
}

/** @param {HTMLElement} where @param {any} data @param {number} limit @param {() => void} more */
function showSpans(where, data, limit, more) {
  const end = data.spans.reduce((/** @type {number} */ last, /** @type {any} */ each) => Math.max(last, each.start + each.seconds), 0) || 1;
  const kinds = [...new Set(data.spans.map((/** @type {any} */ each) => each.name))];
  fill(where, h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Spans of the attempt" }, h("table", { class: "spans" }, h("caption", { class: "unseen" }, "Spans of the attempt"),
    h("thead", null, h("tr", null, ["what", "node", "at", "took"].map((label, place) => h("th", { scope: "col", class: place > 1 ? "number" : "" }, label)), h("th", { scope: "col", class: "bars" }, `0 to ${duration(end)}`))),
    h("tbody", null, data.spans.slice(0, limit).map((/** @type {any} */ each) => h("tr", null, h("td", null, h("span", { class: `swatch c${kinds.indexOf(each.name) % 8}` }), each.name),
      h("td", null, each.node ? shortened(each.node, 40) : ""), h("td", { class: "number" }, duration(each.start)), h("td", { class: "number", title: each.requests ? `${number(each.requests)} requests waited ${duration(each.waited)}, ran ${duration(each.ran)}` : null }, duration(each.seconds)),
      h("td", { class: "bars" }, h("span", { class: `bar c${kinds.indexOf(each.name) % 8}`, style: { "margin-left": `${(100 * each.start) / end}%`, width: `${Math.max(0.3, (100 * each.seconds) / end)}%` } }))))))),
  data.total > limit ? h("button", { on: { click: more } }, `Show more of ${number(data.total)}`) : null,
  data.left_out ? h("p", { class: "quiet" }, `${number(data.left_out)} further spans were not kept.`) : null);
}
