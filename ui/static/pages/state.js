// One state of a search, beside its tree: goals, tactics, what failed and why.
import { fill, h, shortened } from "../lib/dom.js";
import { count, duration, number } from "../lib/format.js";
import { chip, facts, lean } from "../lib/parts.js";

/** @param {HTMLElement} where @param {any} state as the view `state` sends it @param {import("../types").Context} context */
export function showState(where, state, context) {
  const to = (/** @type {number} */ other, /** @type {string} */ text) => h("button", { class: "link", on: { click: () => context.setQuery({ state: other }) } }, text);
  const standing = state.steps !== null ? chip(state.steps === 0 ? "proved" : `proved in ${count(state.steps, "tactic")}`, "good") : state.dead ? chip("dead end", "bad") : state.at === null && state.tactics.length === 0 ? chip("not expanded") : chip("open", "accent");
  fill(where, h("p", null, h("strong", null, `State ${state.id}`), " ", standing), lean(state.state),
    facts([
      ["from", state.parent === null ? "the theorem itself" : [to(state.parent, `state ${state.parent}`), " by ", h("code", null, shortened(state.tactic, 400))]],
      ["visits", number(state.visits)], ["value", state.visits ? `${number(state.value)}, at first ${number(state.estimate)}` : "not visited"],
      ["expanded", state.at === null ? "never" : `${count(state.expansions, "time")}, first after ${duration(state.at)}: policy ${duration(state.policy_seconds)}, Lean ${duration(state.lean_seconds)}`],
      ["depth", number(state.depth)],
    ]),
    state.tactics.length === 0 ? null : [h("h3", null, count(state.tactics_total, "tactic")), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tactics of the state" }, h("table", null, h("caption", { class: "unseen" }, "Tactics of the state"),
      h("thead", null, h("tr", null, ["tactic", "prior", "visits", "value"].map((name, place) => h("th", { scope: "col", class: place ? "number" : "" }, name)), h("th", { scope: "col" }, "leaves"))),
      h("tbody", null, state.tactics.map((/** @type {any} */ each, /** @type {number} */ place) => h("tr", { class: place === state.best ? "good" : each.dead ? "gone" : "" }, h("td", null, h("code", null, each.tactic), place === state.best ? [" ", chip("of the proof", "good")] : each.dead ? [" ", chip("dead", "bad")] : null),
        h("td", { class: "number" }, number(each.prior)), h("td", { class: "number" }, number(each.visits)), h("td", { class: "number" }, each.value === null ? "" : number(each.value)),
        h("td", null, each.children.length === 0 ? "nothing" : each.children.slice(0, 20).map((/** @type {number} */ child) => [to(child, `${child}`), " "])))))))],
    state.failed.length === 0 ? null : h("details", { open: state.tactics.length === 0 }, h("summary", null, count(state.failed_total, "tactic that led nowhere").replace(/tactic that led nowheres$/, "tactics that led nowhere")),
      state.failed.map((/** @type {any} */ each) => h("div", { class: "lost" }, h("p", null, h("code", null, each.tactic), " ", chip(each.kind, each.kind === "error" ? "warn" : "")), each.message ? h("pre", { class: "lean" }, each.message) : null))));
}
