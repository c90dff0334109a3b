// Submit a statement to the provers of the mesh, and watch what becomes of it.
import { fill, h, shortened } from "../lib/dom.js";
import { get } from "../lib/api.js";
import { post } from "../lib/control.js";
import { clock, duration, number } from "../lib/format.js";
import { card, dot, empty, heading, lean } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "Submit",
  uses: ["nodes"],
  open(root, context) {
    const statement = /** @type {HTMLTextAreaElement} */ (h("textarea", { rows: "4", "aria-label": "Statement", placeholder: "theorem t (p q : Prop) : p ∧ q → q ∧ p", maxlength: "20000" }));
    const seconds = /** @type {HTMLInputElement} */ (h("input", { type: "number", min: "1", max: "3600", value: "60", "aria-label": "Seconds" }));
    const send = /** @type {HTMLButtonElement} */ (h("button", { type: "submit" }, "Search for a proof"));
    const said = h("p", { class: "bad", role: "alert", hidden: true });
    const form = h("form", null, statement, h("p", { class: "tools" }, h("label", null, "at most ", seconds, " seconds"), send), said);
    const list = h("div");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      said.hidden = true;
      try {
        await post("/api/control/submit", { statement: statement.value, seconds: Number(seconds.value) });
        statement.value = "";
        await show();
      } catch (error) {
        fill(said, `${error instanceof Error ? error.message : error}`);
        said.hidden = false;
      }
    });
    root.append(heading("Submit a statement"), card("Statement", { note: "Lean, in the header of the provers' project", wide: true }, form), card("Submitted", { wide: true }, list));
    async function show() {
      if (context.tick && !context.tick.control) {
        fill(list, empty("The monitor was started without --allow-control: its pages are for reading only."));
        send.disabled = true;
        return;
      }
      const all = await get("/api/control/submitted");
      fill(list, all.length ? all.map(one) : empty("Nothing was submitted yet."));
    }
    return { refresh: show };
  },
};

/** @param {any} each */
function one(each) {
  const searching = each.outcome === "searching";
  return h("div", { class: "proof" }, h("p", null, dot(each.outcome), " ", h("span", { class: "quiet" },
    searching ? `for ${duration(Date.now() / 1000 - each.begun)}` : `${clock(each.begun)} · ${duration(each.seconds)} · ${number(each.simulations)} simulations${each.by ? ` · by ${shortened(each.by, 80)}` : ""}`)),
  lean(each.lean || each.statement, 8000), each.reason ? h("p", { class: "quiet" }, shortened(each.reason, 2000)) : null);
}
