// A tree that one walks with the arrow keys. Only what is unfolded is in the page, and of long lists the beginning.
import { h, fill } from "./dom.js";

/**
 * @template Node
 * @typedef {{node: Node, key: string, level: number, parent: string, place: number, of: number, unfolded: boolean | null, more: number}} Row
 *   `unfolded`: null if there is nothing below. `more`: above 0: no node, but a button for as many further ones.
 */

/**
 * @template Node
 * @param {{
 *   label: string,
 *   root: Node,
 *   key: (node: Node) => string,
 *   children: (node: Node) => Node[],
 *   first: (node: Node, children: Node[]) => number,
 *   draw: (element: HTMLElement, node: Node, parent: Node | null) => void,
 *   text: (node: Node) => string,
 *   more: (count: number) => string,
 *   select: (node: Node) => boolean,
 * }} spec `first`: how many children are shown at first. `text`: what a row depends on; it is drawn again when that changes. `select`: false if there is nothing to show,
 *   so that the row folds.
 */
export function tree(spec) {
  const body = h("div", { role: "tree", "aria-label": spec.label, class: "tree" });
  /** @type {Set<string>} */
  const unfolded = new Set();
  /** @type {Map<string, number>} */
  const limits = new Map();
  /** @type {Map<string, {element: HTMLElement, inside: HTMLElement, twist: HTMLElement, text: string}>} */
  let drawn = new Map();
  /** @type {Row<Node>[]} */
  let rows = [];
  let focused = spec.key(spec.root), selected = "";

  function listed() {
    /** @type {Row<Node>[]} */
    const found = [];
    /** @type {{node: Node, level: number, parent: string, place: number, of: number, more?: number}[]} */
    const open = [{ node: spec.root, level: 1, parent: "", place: 1, of: 1 }];
    while (open.length) {
      const { node, level, parent, place, of, more = 0 } = /** @type {any} */ (open.pop());
      if (more) {
        found.push({ node, key: `m${parent}`, level, parent, place, of, unfolded: null, more });
        continue;
      }
      const key = spec.key(node), children = spec.children(node);
      const shows = unfolded.has(key) && children.length > 0;
      found.push({ node, key, level, parent, place, of, unfolded: children.length ? shows : null, more: 0 });
      if (!shows) continue;
      const limit = Math.min(children.length, Math.max(limits.get(key) ?? 0, spec.first(node, children))), left = children.length - limit;
      const all = limit + (left ? 1 : 0);
      if (left) open.push({ node, level: level + 1, parent: key, place: all, of: all, more: left });
      for (let n = limit - 1; n >= 0; n--) open.push({ node: children[n], level: level + 1, parent: key, place: n + 1, of: all });
    }
    return found;
  }

  function show() {
    rows = listed();
    const nodes = new Map(rows.filter((row) => !row.more).map((row) => [row.key, row.node]));
    if (!rows.some((row) => row.key === focused)) focused = rows[0]?.key ?? "";
    const had = body.contains(document.activeElement), next = new Map();
    const elements = rows.map((row) => {
      const text = row.more ? spec.more(row.more) : spec.text(row.node);
      let entry = drawn.get(row.key);
      if (!entry) {
        const twist = h("span", { class: "twist", "aria-hidden": "true" }), inside = h("span", { class: "inside" });
        entry = { element: h("div", { role: "treeitem", "data-key": row.key }, twist, inside), inside, twist, text: "" };
      }
      if (entry.text !== text) {
        entry.text = text;
        entry.element.className = "";
        if (row.more) fill(entry.inside, h("span", { class: "more" }, text));
        else spec.draw(entry.inside, row.node, nodes.get(row.parent) ?? null);
      }
      const { element, twist } = entry;
      element.style.setProperty("--level", String(Math.min(row.level, 40)));
      const set = { "aria-level": row.level, "aria-posinset": row.place, "aria-setsize": row.of, "aria-selected": row.key === selected, tabindex: row.key === focused ? 0 : -1 };
      for (const [name, value] of Object.entries(set)) if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
      if (row.unfolded === null) element.removeAttribute("aria-expanded");
      else element.setAttribute("aria-expanded", String(row.unfolded));
      twist.textContent = row.unfolded === null ? "" : row.unfolded ? "▾" : "▸";
      next.set(row.key, entry);
      return element;
    });
    for (const [key, { element }] of drawn) if (!next.has(key)) element.remove();
    drawn = next;
    let at = body.firstChild; // what stays is not moved
    for (const element of elements) {
      if (element === at) at = at.nextSibling;
      else body.insertBefore(element, at);
    }
    if (had) drawn.get(focused)?.element.focus({ preventScroll: true });
  }

  /** @param {string} key */
  function focus(key) {
    drawn.get(focused)?.element.setAttribute("tabindex", "-1");
    focused = key;
    const element = drawn.get(key)?.element;
    element?.setAttribute("tabindex", "0");
    element?.focus();
  }

  /** @param {Row<Node>} row @param {boolean} on */
  function fold(row, on) {
    if (on) unfolded.add(row.key);
    else unfolded.delete(row.key);
    show();
  }

  /** @param {Row<Node>} row */
  function act(row) {
    if (!row.more) {
      if (!spec.select(row.node) && row.unfolded !== null) fold(row, !row.unfolded);
      return;
    }
    limits.set(row.parent, row.of - 1 + 50);
    const at = rows.indexOf(row);
    show();
    focus(rows[at]?.key ?? focused);
  }

  body.addEventListener("keydown", (event) => {
    const at = rows.findIndex((row) => row.key === focused), row = rows[at];
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => focus(rows[Math.min(rows.length - 1, at + 1)]?.key ?? focused),
      ArrowUp: () => focus(rows[Math.max(0, at - 1)]?.key ?? focused),
      Home: () => focus(rows[0]?.key ?? focused),
      End: () => focus(rows[rows.length - 1]?.key ?? focused),
      ArrowRight: () => (row.unfolded === false ? fold(row, true) : row.unfolded && focus(rows[at + 1]?.key ?? focused)),
      ArrowLeft: () => (row.unfolded ? fold(row, false) : row.parent && focus(row.parent)),
      Enter: () => act(row),
      " ": () => act(row),
    };
    const done = keys[event.key];
    if (!done) return;
    event.preventDefault();
    done();
  });
  body.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target), element = target.closest("[data-key]");
    const row = rows.find((each) => each.key === element?.getAttribute("data-key"));
    if (!row) return;
    focus(row.key);
    if (target.closest(".twist") && row.unfolded !== null) fold(row, !row.unfolded);
    else act(row);
  });

  return {
    node: body,
    show,
    /** Unfold these. @param {Iterable<string>} keys */
    unfold(keys) {
      for (const key of keys) unfolded.add(key);
    },
    /** Mark a row and bring it into view. `above`: nodes to unfold for that, and up to which child each. @param {string} key @param {[string, number][]} above */
    select(key, above) {
      if (selected === key && drawn.has(key)) return show();
      selected = key;
      for (const [each, place] of above) {
        unfolded.add(each);
        limits.set(each, Math.max(limits.get(each) ?? 0, place + 1));
      }
      focused = key;
      show();
      // Only what scrolls around the tree: the page stays where it is.
      const element = drawn.get(key)?.element, box = body.parentElement;
      if (!element || !box) return;
      const over = element.getBoundingClientRect().top - box.getBoundingClientRect().top;
      if (over < 0 || over > box.clientHeight - element.offsetHeight) box.scrollTop += over - box.clientHeight / 2;
    },
    get size() {
      return rows.length;
    },
  };
}
