// Makes elements. All text is set as text, so nothing that a model, a file or a node wrote becomes markup.

/** Characters that would be invisible, or would change the order of others, are written as escapes. @param {string} text */
export function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * An element. `props`: attributes; `class`, `on` (listeners by event) and `style` (properties) are special, and a value
 * of false, null or undefined leaves the attribute out.
 * @param {string} tag
 * @param {Record<string, any> | null} [props]
 * @param {...import("../types").Child} children
 * @returns {HTMLElement}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? "" : typeof value === "string" ? visible(value) : String(value));
  }
  add(element, children);
  return element;
}

/** Append children. @param {Node} parent @param {import("../types").Child} child */
export function add(parent, child) {
  if (Array.isArray(child)) for (const each of child) add(parent, each);
  else if (child instanceof Node) parent.appendChild(child);
  else if (child !== null && child !== undefined && child !== false) {
    parent.appendChild(document.createTextNode(visible(String(child))));
  }
}

/** Replace what an element contains. @param {Element} element @param {...import("../types").Child} children */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

/** The element with this id. @param {string} id @returns {HTMLElement} */
export function $(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  return found;
}

/** A text cut to a length. @param {unknown} text @param {number} [most] */
export function shortened(text, most = 160) {
  const whole = String(text ?? "");
  return whole.length <= most ? whole : `${whole.slice(0, most)}…`;
}
