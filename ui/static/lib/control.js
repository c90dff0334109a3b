// What a person may do with the mesh, if the monitor was started with --allow-control.
import { h, fill, shortened } from "./dom.js";
import { Refused } from "./api.js";

/** POST to the monitor. Throws Refused. @param {string} path @param {object} body @returns {Promise<any>} */
export async function post(path, body) {
  const response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json", "X-Proofmesh-Control": "1" }, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error ?? `status ${response.status}`);
  return answer;
}

/** @type {Record<string, {label: string, title: string, sure?: string, more?: object}>} */
const DEEDS = {
  pause: { label: "Pause collection", title: "The learner dispatches no attempts to learn", sure: "Pause collection? Attempts that are outstanding end." },
  resume: { label: "Resume", title: "The learner dispatches attempts again" },
  evaluate: { label: "Evaluate now", title: "The newest weights are evaluated beside learning" },
  drain: { label: "Drain", title: "It finishes or hands back its work, and leaves for good", sure: "Have this node leave for good?" },
  level: { label: "Debug for 10 min", title: "It logs more for ten minutes", more: { level: "debug", seconds: 600 } },
  stacks: { label: "Stacks", title: "Where each of its threads and tasks waits, in its log" },
  profile: { label: "Profile 10 s", title: "A profile of its processor time, if py-spy is installed there" },
  memory: { label: "Memory 10 s", title: "A table of its objects and allocations" },
};

/**
 * Buttons, and what came of them. `node`: the beginning of the ids of those that are asked.
 * @param {string} node @param {string[]} deeds
 */
export function controls(node, deeds) {
  const said = h("div", { role: "status" });
  const buttons = deeds.map((deed) => {
    const { label = deed, title = "", sure = "", more = {} } = DEEDS[deed] ?? {};
    const button = /** @type {HTMLButtonElement} */ (h("button", { title }, label));
    button.addEventListener("click", async () => {
      if (sure && !confirm(sure)) return;
      button.disabled = true;
      fill(said, h("p", { class: "quiet" }, "asking …"));
      try {
        const found = await post("/api/control/ask", { what: deed, node, ...more });
        fill(said, found.answers.filter((/** @type {any} */ each) => each.fields.answers).map(answered), found.silent.map((/** @type {string} */ each) => h("p", { class: "bad" }, `${shortened(each, 80)} does not answer`)));
      } catch (error) {
        fill(said, h("p", { class: "bad", role: "alert" }, `${error instanceof Error ? error.message : error}`));
      }
      button.disabled = false;
    });
    return button;
  });
  return h("div", { class: "controls" }, h("div", { class: "tools" }, buttons), said);
}

/** @param {any} answer */
function answered(answer) {
  const { failed, answers, asked, node, ...rest } = answer.fields;
  const words = failed ?? Object.entries(rest).map(([name, value]) => `${name} ${value}`).join(", ");
  return h("p", { class: failed ? "bad" : "good" }, `${shortened(answer.node, 80)}: ${shortened(words || answer.event, 600)}`);
}
