// A table whose rows stay where they are when their data changes: focus and selection survive a refresh.
import { h, fill, add } from "./dom.js";

/**
 * @template Row
 * @param {{
 *   caption: string,
 *   columns: import("../types").Column<Row>[],
 *   key: (row: Row) => string,
 *   href?: (row: Row) => string,
 *   tone?: (row: Row) => string,
 *   empty?: string,
 *   order?: () => string,
 *   sort?: (order: string) => void,
 *   tall?: boolean,
 * }} spec `href`: where a row leads; its first cell is the link. `order`: the column that it is sorted by.
 */
export function table(spec) {
  const heads = spec.columns.map((column) => {
    const sort = column.sort;
    const label = sort ? h("button", { class: "sort", on: { click: () => spec.sort?.(sort) } }, column.label) : column.label;
    return h("th", { class: column.number ? "number" : "", scope: "col", title: column.title }, label);
  });
  const body = h("tbody");
  const nothing = h("p", { class: "quiet empty" }, spec.empty ?? "Nothing yet.");
  const grid = h("table", null, h("caption", { class: "unseen" }, spec.caption), h("thead", null, h("tr", null, heads)), body);
  const node = h("div", { class: spec.tall ? "scroll tall" : "scroll", tabindex: "0", role: "region", "aria-label": spec.caption }, grid, nothing);
  /** @type {Map<string, {row: HTMLElement, text: string}>} */
  let known = new Map();

  /** @param {HTMLElement} row @param {Row} data */
  function draw(row, data) {
    const href = spec.href?.(data);
    row.className = spec.tone?.(data) ?? "";
    const focused = row.contains(document.activeElement);
    fill(row, spec.columns.map((column, place) => {
      const cell = h("td", { class: `${column.number ? "number" : ""} ${column.class ?? ""}` });
      if (href && place === 0) cell.append(h("a", { href }, column.cell(data)));
      else add(cell, column.cell(data));
      return cell;
    }));
    if (focused) row.querySelector("a")?.focus();
  }

  return {
    node,
    /** Show these rows. @param {Row[]} rows */
    set(rows) {
      const next = new Map();
      const elements = rows.map((data) => {
        const key = spec.key(data), text = JSON.stringify(data), old = known.get(key);
        const row = old?.row ?? h("tr");
        if (!old || old.text !== text) {
          try {
            draw(row, data);
          } catch (error) {
            fill(row, h("td", { colspan: spec.columns.length }, `this row cannot be shown: ${error}`));
          }
        }
        next.set(key, { row, text });
        return row;
      });
      known = next;
      const same = elements.length === body.children.length && elements.every((row, place) => body.children[place] === row);
      if (!same) body.replaceChildren(...elements);
      nothing.hidden = rows.length > 0;
      spec.columns.forEach((column, place) => {
        if (column.sort) heads[place]?.setAttribute("aria-sort", spec.order?.() === column.sort ? (column.ascending ? "ascending" : "descending") : "none");
      });
    },
  };
}
