// The small parts that pages are made of.
import { h, fill, shortened } from "./dom.js";

/** @typedef {import("../types").Child} Child */

/**
 * A card with a heading. `wide`: the whole row.
 * @param {string} title @param {{note?: Child, wide?: boolean, id?: string, tools?: Child}} options @param {...Child} children
 */
export function card(title, options, ...children) {
  const heading = h("h2", null, title, options.note ? h("span", { class: "quiet" }, " ", options.note) : null);
  const head = h("div", { class: "head" }, heading, options.tools ? h("div", { class: "tools" }, options.tools) : null);
  return h("section", { class: options.wide ? "card wide" : "card", id: options.id, "aria-label": title }, head, ...children);
}

/** The page's heading. @param {string} title @param {...Child} more */
export function heading(title, ...more) {
  return h("div", { class: "page-head wide" }, h("h1", { tabindex: "-1" }, title), ...more);
}

/**
 * Large numbers with labels. @param {{value: Child, label: string, tone?: "good"|"warn"|"bad", title?: string, href?: string}[]} all
 */
export function tiles(all) {
  return all.map((each) => h(each.href ? "a" : "div", { class: `tile ${each.tone ?? ""}`, title: each.title, href: each.href },
    h("b", null, each.value), h("span", null, each.label)));
}

/** A word in place of data. @param {...Child} words */
export const empty = (...words) => h("p", { class: "quiet empty" }, ...words);

/** A state as a coloured dot with its name. @param {string} state */
export function dot(state) {
  const tone = { running: "good", proved: "good", solved: "good", unsolved: "warn", disproved: "good", refused: "bad", ok: "good", unhealthy: "bad", gone: "bad", rejected: "bad", error: "bad",
    draining: "warn", starting: "warn", paused: "warn", failed: "warn", outstanding: "warn" }[state] ?? "";
  return h("span", { class: `dot ${tone}` }, shortened(state, 40));
}

/** A chip. @param {Child} text @param {string} [tone] */
export const chip = (text, tone) => h("span", { class: `chip ${tone ?? ""}` }, text);

const LEAN = /(\b(?:theorem|lemma|example|by|fun|with|at|have|show|from|using|Prop|Type|Nat|Int|List|Set)\b|--.*$)/m;

/** Lean text. @param {string} text @param {number} [most] characters that are shown */
export function lean(text, most = 20000) {
  const code = h("pre", { class: "lean", tabindex: "0" });
  for (const each of shortened(text, most).split(LEAN)) {
    code.append(LEAN.test(each) ? h("span", { class: each.startsWith("--") ? "comment" : "keyword" }, each) : h("span", null, each));
  }
  return code;
}

/** Names and values. @param {[string, Child][]} pairs */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

/**
 * One bar, cut into parts. `waits`: striped. @param {{name: string, value: number, colour: number, shown: string, waits?: boolean}[]} parts @param {string} label
 */
export function stack(parts, label) {
  const whole = parts.reduce((sum, each) => sum + (each.value > 0 ? each.value : 0), 0);
  const words = parts.filter((each) => each.value > 0).map((each) => `${each.name} ${each.shown}`).join(", ");
  return h("div", { class: "stack", role: "img", "aria-label": `${label}: ${words}` }, parts.filter((each) => each.value > 0).map((each) =>
    h("span", { class: `c${each.colour % 8} ${each.waits ? "waits" : ""}`, style: { "flex-grow": String(each.value / (whole || 1)) }, title: `${each.name}: ${each.shown}` })));
}

/** What the colours of `stack` mean. @param {{name: string, colour: number, waits?: boolean}[]} parts */
export const legend = (parts) => h("ul", { class: "legend" }, parts.map((each) =>
  h("li", null, h("span", { class: `swatch c${each.colour % 8} ${each.waits ? "waits" : ""}` }), each.name)));

/** Colours of the parts of an attempt's time, by `Parts` in common/records/rows.py; what waits for something is striped. @type {Record<string, number>} */
const PART_COLOURS = { dispatch: 7, queue: 1, search: 2, policy_wait: 0, policy_run: 0, lean_wait: 3, lean_run: 3, verify_wait: 6, verify_run: 6, bus: 5, result_wait: 4, store: 4 };

/** How `stack` shows a part of an attempt's time. @param {string} part */
export const partStyle = (part) => ({ colour: PART_COLOURS[part] ?? 7, waits: /queue|_wait$/.test(part) });

/**
 * A text field that changes a parameter of the address while one types.
 * @param {import("../types").Context} context @param {string} name @param {string} label
 */
export function searchField(context, name, label) {
  let timer = 0;
  const field = /** @type {HTMLInputElement} */ (h("input", { type: "search", value: context.query.get(name) ?? "", "aria-label": label, placeholder: label, maxlength: "200" }));
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => context.setQuery({ [name]: field.value, from: undefined }), 250);
  });
  return field;
}

/**
 * A choice that changes a parameter of the address. The first option is the default, and stands for no parameter.
 * @param {import("../types").Context} context @param {string} name @param {string} label @param {[string, string][]} options value, text
 */
export function choice(context, name, label, options) {
  const chosen = context.query.get(name) ?? options[0]?.[0];
  const select = /** @type {HTMLSelectElement} */ (h("select", { "aria-label": label },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, shortened(text, 60)))));
  select.addEventListener("change", () =>
    context.setQuery({ [name]: select.value === options[0]?.[0] ? undefined : select.value, from: undefined }));
  return select;
}

/**
 * A choice whose options come with the data.
 * @param {import("../types").Context} context @param {string} name @param {string} label
 */
export function laterChoice(context, name, label) {
  const node = h("span");
  let text = "";
  return {
    node,
    /** @param {[string, string][]} options */
    set(options) {
      const now = JSON.stringify(options);
      if (now === text) return;
      text = now;
      fill(node, choice(context, name, label, options));
    },
  };
}

/**
 * Which rows of a long list are shown, with buttons to the others; the parameter `from` of the address says it.
 * @param {import("../types").Context} context @param {number} size rows of a page
 */
export function pager(context, size) {
  const words = h("span", { class: "quiet", "aria-live": "polite" });
  const move = (/** @type {number} */ by) => () => context.setQuery({ from: Math.max(0, from() + by) || undefined });
  const from = () => Math.max(0, Math.floor(Number(context.query.get("from")) || 0));
  const before = /** @type {HTMLButtonElement} */ (h("button", { on: { click: move(-size) } }, "Previous"));
  const after = /** @type {HTMLButtonElement} */ (h("button", { on: { click: move(size) } }, "Next"));
  return {
    node: h("div", { class: "pager" }, words, before, after),
    from,
    size,
    /** @param {number} total @param {number} shown @param {boolean} [more] there are more than `total` */
    set(total, shown, more) {
      const start = from(), all = `${more ? "more than " : ""}${total.toLocaleString("en")}`;
      fill(words, shown ? `${(start + 1).toLocaleString("en")} to ${(start + shown).toLocaleString("en")} of ${all}` : `${all} in all`);
      before.disabled = start === 0;
      after.disabled = start + shown >= total;
    },
  };
}
