// One kept search: its AND-OR trees, state by state, and how they grew.
import { fill, h, shortened } from "../lib/dom.js";
import { queryOf } from "../lib/api.js";
import { clock, count, duration, number } from "../lib/format.js";
import { card, chip, dot, empty, facts, heading, lean } from "../lib/parts.js";
import { andOr } from "../lib/andor.js";
import { picture } from "../lib/picture.js";
import { tree } from "../lib/tree.js";
import { showState } from "./state.js";

/** @typedef {import("../lib/andor.js").TreeNode} TreeNode */

const FIRST = 50; // children of a node that are shown at first
const PLAYED = 12000; // milliseconds of a replay
const FRAME = 60; // between two of its pictures, at least

/** @type {import("../types").Page} */
export const page = {
  title: "Search",
  uses: ["searches"],
  open(root, context) {
    const id = context.rest[0] ?? "", prover = context.query.get("prover") ?? undefined;
    const again = h("button", { hidden: !prover }, "Look again"), passed = h("p", { class: "quiet", role: "status", hidden: !prover });
    const about = h("div"), tabs = h("nav", { class: "tabs", "aria-label": "Trees of this attempt" }), words = h("p", { class: "quiet" });
    const side = h("div", { class: "side", "aria-live": "polite" }, empty("Choose a state."));
    const rows = h("div", { class: "scroll tree-box" }), replay = h("div", { class: "replay" });
    const image = picture((state) => context.setQuery({ state }));
    root.append(heading(`Search ${shortened(id, 100)}`, again), passed, card("The search", { wide: true }, about, tabs),
      card("Its tree", { wide: true, note: "as AlphaProof's: of a state one tactic has to succeed, of a tactic all subgoals" }, replay, image.node, words, legend()),
      h("div", { class: "tree-card" }, card("State by state", { note: "arrow keys walk and unfold, Enter shows a state" }, heads(), rows)), card("The state", { id: "state" }, side));
    /** @type {import("../lib/andor.js").Model | null} */
    let model = null;
    /** @type {ReturnType<typeof tree<TreeNode>> | null} */
    let shown = null;
    /** @type {ReturnType<typeof player> | null} */
    let play = null;
    let number_ = -1, looked = "", stale = false;
    const now = () => play?.step ?? 0;

    /** @param {any} data */
    function build(data) {
      const made = (model = andOr(data.columns));
      play?.stop();
      play = player(made, context, () => {
        shown?.show();
        image.at(now(), looking());
      });
      const above = (/** @type {TreeNode} */ node, /** @type {TreeNode | null} */ parent) => parent?.state ?? node.state;
      const below = (/** @type {TreeNode} */ node) => (node.kind === "again" || !made.open(node.state, now()) ? [] : made.children(node));
      shown = tree({
        label: "States and tactics of the search", root: made.root, key: (/** @type {TreeNode} */ node) => node.key, children: below,
        first: (node, children) => Math.min(FIRST, Math.max(node.kind === "and" ? FIRST : 1, made.visited(children, node.state))),
        text: (node) => `${node.key} ${made.open(node.state, now())}`, more: (left) => `Show ${left > 50 ? `50 of ${number(left)}` : number(left)} more`,
        draw: (element, node, parent) => drawRow(element, made, node, above(node, parent), made.open(node.state, now())),
        select(node) {
          if (node.kind !== "and") context.setQuery({ state: node.state });
          return node.kind !== "and";
        },
      });
      shown.unfold([...made.line].flatMap(([state, tactic]) => [`s${state}`, `a${state}.${tactic}`]).concat("s0"));
      fill(rows, shown.node);
      fill(replay, play.node);
      fill(words, made.proved ? `The proof that it found is lit: ${count(/** @type {number} */ (data.columns.steps[0]), "tactic")} on its longest branch.` : `${prover ? "There is no proof yet" : "It found no proof"}; the line with most visits is lit.`,
        ` Visits and values are those of ${prover ? "this moment" : "the end of the search"}. Value: minus the tactics that are left, as estimated.`);
      image.set(made, `AND-OR tree of ${count(made.size, "state")}, ${made.expanded.length} of them expanded; ${made.proved ? "a proof was found" : prover ? "it goes on" : "no proof was found"}. The tree below has the same states.`);
      showAbout(about, tabs, data, context, number_);
    }
    const looking = () => Math.max(0, Math.floor(Number(context.query.get("state")) || 0));

    async function lookAgain() {
      stale = true;
      await refresh();
    }
    again.addEventListener("click", () => void lookAgain());
    return {
      refresh,
      close() {
        play?.stop();
        image.close();
      },
    };

    async function refresh() {
      const wanted = Math.max(0, Math.floor(Number(context.query.get("tree")) || 0));
      if (!model || wanted !== number_ || stale) {
        try {
          const data = await context.get("search", { id, prover, tree: wanted });
          [number_, looked, stale] = [wanted, "", false];
          build(data);
          fill(passed, prover ? `As it was at ${clock(data.kept.recorded)} on ${prover}.` : null);
        } catch (error) {
          if (!prover || !(error instanceof Error)) throw error;
          fill(passed, `${error.message}. `, h("a", { href: context.href("attempt", id) }, "Its attempt"), " says what became of it.");
          if (!model) return;
          stale = false;
        }
      }
      const state = looking(), key = `${number_} ${state}`;
      play?.read();
      image.at(now(), state);
      shown?.select(`s${state}`, model?.above(state) ?? []);
      if (key === looked) return;
      looked = key;
      try {
        const found = await context.get("state", { id, prover, tree: number_, state });
        if (looked === key) showState(side, found, context);
      } catch (error) {
        looked = "";
        fill(side, empty(error instanceof Error ? error.message : `${error}`));
      }
    }
  },
};

function legend() {
  return h("ul", { class: "legend" }, [["mark-or", "state (OR)"], ["mark-and", "tactic with several subgoals (AND)"], ["mark-open", "not expanded"], ["mark-done", "proved"], ["mark-dead", "dead end: no tactic of the policy can prove it"]]
    .map(([mark, text]) => h("li", null, h("span", { class: `mark ${mark}` }), text)));
}

const heads = () => h("div", { class: "tree-heads", "aria-hidden": "true" }, h("span", null, "tactic → goal"), ["prior", "visits", "value"].map((name) => h("span", { class: "number" }, name)));

/** @param {HTMLElement} where @param {HTMLElement} tabs @param {any} data @param {import("../types").Context} context @param {number} current */
function showAbout(where, tabs, data, context, current) {
  const prover = context.query.get("prover") ?? undefined;
  const kept = data.kept, one = data.trees[current], more = [];
  if (data.in_records) more.push(h("a", { href: context.href("attempt", kept.attempt_id) }, "its attempt"), " · ", h("a", { href: context.href("theorem", kept.theorem_id) }, "its theorem"));
  fill(where, lean(one.theorem, 4000), facts([
    ["outcome", h("span", null, dot(kept.outcome), ` ${kept.purpose}, ${clock(kept.recorded)} `, more)],
    ["tree", `${number(one.simulations)} simulations, ${count(one.states, "state")}, ${number(one.tactics_tried)} tactics tried, ${number(one.tactics_failed)} failed`],
  ]));
  tabs.hidden = data.trees.length < 2;
  fill(tabs, data.trees.map((/** @type {any} */ each, /** @type {number} */ place) => h("a", { href: `${context.href("search", kept.attempt_id)}${queryOf({ prover, tree: place || undefined })}`, "aria-current": place === current ? "page" : null },
    `tree ${place + 1}: ${shortened(each.theorem.replace(/^theorem\s+/, "").split(/[\s:({]/, 1)[0] || "no name", 40)}`, h("span", { class: "quiet" }, ` ${count(each.states, "state")}${each.steps === null ? "" : ", proved"}`))));
}

/** A row of the tree. @param {HTMLElement} element @param {import("../lib/andor.js").Model} model @param {TreeNode} node @param {number} from @param {boolean} open */
function drawRow(element, model, node, from, open) {
  const { columns } = model, state = node.state, isState = node.kind === "state" || node.kind === "again";
  const taken = model.tactic(node, from);
  const steps = isState ? columns.steps[state] : taken?.[4], dead = isState ? columns.dead[state] : taken?.[5];
  const visits = isState ? columns.visits[state] : taken?.[2], value = isState ? (columns.visits[state] ? columns.value[state] : null) : taken?.[3];
  const lit = isState ? state === 0 || (model.lit.has(state) && model.line.get(from) === node.tactic) : model.line.get(state) === node.tactic;
  const mark = node.kind === "and" ? "mark-and" : node.kind === "end" ? "mark-done" : steps !== null && steps !== undefined ? "mark-done" : dead ? "mark-dead" : open && columns.tactics[state]?.length ? "mark-or" : "mark-open";
  const goal = isState ? h("span", { class: "goal" }, "⊢ ", columns.goal[state]) : h("span", { class: "goal quiet" }, node.kind === "end" ? "closes the goal" : `${count(taken?.[6].length ?? 0, "subgoal")}, all to be proved`);
  element.className = `inside ${lit ? (model.proved ? "lit" : "lit line") : ""}`;
  fill(element, h("span", { class: `mark ${mark}` }), h("span", { class: "what" },
    taken && !(isState && taken[6].length > 1) ? [h("code", null, taken[0]), isState ? " → " : " "] : null, goal,
    steps !== null && steps !== undefined && isState ? [" ", chip(steps === 0 ? "proved" : `proved in ${number(steps)}`, "good")] : dead ? [" ", chip("dead end", "bad")] : null,
    node.kind === "again" ? [" ", chip(`state ${state}, shown elsewhere`)] : null),
  h("span", { class: "number" }, isState && (taken?.[6].length ?? 0) > 1 ? "" : taken ? number(taken[1]) : ""), h("span", { class: "number" }, number(visits)), h("span", { class: "number" }, value === null || value === undefined ? "" : number(value)));
}

/** Replays the expansions. @param {import("../lib/andor.js").Model} model @param {import("../types").Context} context @param {() => void} show */
function player(model, context, show) {
  const all = model.expanded.length;
  const button = /** @type {HTMLButtonElement} */ (h("button", null, "Play"));
  const slider = /** @type {HTMLInputElement} */ (h("input", { type: "range", min: "1", max: String(Math.max(1, all)), value: String(all), "aria-label": "Expansions that are shown" }));
  const said = h("span", { class: "quiet", role: "status" }), look = /** @type {HTMLButtonElement} */ (h("button", { class: "link" }, "show this state"));
  let step = all, timer = 0;

  function say() {
    const state = model.expanded[step - 1] ?? 0, at = model.columns.at[state];
    slider.value = String(step);
    slider.setAttribute("aria-valuetext", `expansion ${step} of ${all}`);
    fill(said, `expansion ${number(step)} of ${number(all)}, after ${duration(at)}: state ${state}`);
    button.textContent = timer ? "Pause" : "Play";
  }
  /** @param {number} next */
  function go(next) {
    step = Math.max(1, Math.min(all, next));
    say();
    show();
  }
  const keep = () => context.setQuery({ at: step === all ? undefined : step });
  function stop() {
    clearInterval(timer);
    timer = 0;
    button.textContent = "Play";
  }
  button.addEventListener("click", () => {
    if (timer) {
      stop();
      return keep();
    }
    const pause = Math.max(FRAME, Math.min(600, PLAYED / all)), by = Math.max(1, Math.round((all * pause) / PLAYED));
    if (step >= all) go(1);
    timer = setInterval(() => {
      go(step + by);
      if (step < all) return;
      stop();
      keep();
    }, pause);
    say();
  });
  slider.addEventListener("input", () => {
    stop();
    go(Number(slider.value));
  });
  slider.addEventListener("change", keep);
  look.addEventListener("click", () => context.setQuery({ state: model.expanded[step - 1] ?? 0 }));
  say();
  return {
    node: all ? [button, slider, said, look] : [empty("This search does not say when its states were expanded.")],
    get step() {
      return step;
    },
    /** Take the step of the address. */
    read() {
      const at = Math.floor(Number(context.query.get("at")) || all);
      if (!timer && at !== step) {
        step = Math.max(1, Math.min(all, at));
        say();
        show();
      }
    },
    stop,
  };
}
