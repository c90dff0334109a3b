// The records of all nodes by time.
import { fill, h, shortened } from "../lib/dom.js";
import { clock, moment } from "../lib/format.js";
import { card, choice, empty, heading, searchField } from "../lib/parts.js";

const MOST = 2000; // lines that stay on the page; an answer has at most 500

/** @type {import("../types").Page} */
export const page = {
  title: "Logs",
  uses: ["logs"],
  open(root, context) {
    const list = h("div", { class: "log scroll", tabindex: "0", role: "log", "aria-label": "Log records" });
    const older = /** @type {HTMLButtonElement} */ (h("button", { hidden: true }, "Older records"));
    const tools = [searchField(context, "text", "Search in records"), searchField(context, "node", "Node, such as prover-"),
      choice(context, "level", "Lowest level", [["info", "info and above"], ["debug", "all levels"], ["warning", "warnings and errors"], ["error", "errors"]])];
    /** @type {any[]} */
    let earlier = [];
    let shownQuery = "";
    let text = "";
    const query = () => ({ node: context.query.get("node") ?? "", level: context.query.get("level") ?? undefined, text: context.query.get("text") ?? "" });
    older.addEventListener("click", async () => {
      const first = list.querySelector("[data-time]")?.getAttribute("data-time");
      older.disabled = true;
      const found = await context.get("logs", { ...query(), before: first ?? undefined });
      older.disabled = false;
      older.hidden = !found.more;
      earlier = [...found.records, ...earlier].slice(-MOST);
      const height = list.scrollHeight;
      list.prepend(...found.records.map(line));
      while (list.children.length > MOST) list.lastChild?.remove(); // a person reads the other end
      list.scrollTop += list.scrollHeight - height;
    });
    root.append(heading("Logs"), card("Records", { note: "times are this browser's", wide: true, tools }, older, list));
    return {
      async refresh() {
        const asked = query(), now = JSON.stringify(asked);
        if (now !== shownQuery) [earlier, shownQuery] = [[], now];
        const found = await context.get("logs", asked);
        const next = JSON.stringify(found.records);
        if (next === text && list.children.length) return;
        text = next;
        const follow = list.scrollTop + list.clientHeight > list.scrollHeight - 40 || !list.children.length;
        if (!earlier.length) older.hidden = !found.more;
        const fresh = found.records, begin = fresh[0]?.time ?? Infinity;
        const all = [...earlier.filter((each) => each.time < begin), ...fresh].slice(-MOST);
        fill(list, all.length ? all.map(line) : empty("No record like that."));
        if (follow) list.scrollTop = list.scrollHeight;
      },
    };
  },
};

/** @param {any} record */
function line(record) {
  const { exception, stack, ...fields } = record.fields;
  const trace = exception ?? stack;
  return h("div", { class: `line ${record.level}`, "data-time": String(record.time) },
    h("time", { title: moment(record.time) }, clock(record.time)), " ", h("span", { class: "level" }, shortened(record.level, 12)), " ",
    h("span", { class: "who" }, shortened(record.node_id, 60)), " ", h("b", null, shortened(record.event, 600)), " ",
    h("span", { class: "quiet" }, shortened(Object.entries(fields).map(([name, value]) => `${name}=${value}`).join(" "), 1500)),
    trace ? h("details", null, h("summary", null, "traceback"), h("pre", null, shortened(trace, 20000))) : null);
}
