// Makes elements. All text is set as text, so nothing that a model, a file or a node wrote becomes markup.

// Characters that nobody sees, or that turn the direction of writing: the same as in common/output/visible.py.
const CONTROLS = String.raw`\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff`;
const UNSEEN = String.raw`\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0d`;
const UNSAFE = new RegExp(`[${CONTROLS}${UNSEEN}]|(?<![\\u2190-\\u2bff\\u{1f000}-\\u{1faff}])[\\ufe0e\\ufe0f]`, "gu");
/** @type {Record<string, string>} */
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The text with such characters as escapes. `multiline` keeps line breaks and tabs. @param {string} text @param {boolean} [multiline] */
export function visible(text, multiline = false) {
  return text.replaceAll("\r\n", multiline ? "\n" : "\r\n").replace(UNSAFE, (char) => {
    if (multiline && (char === "\n" || char === "\t")) return char;
    const code = char.codePointAt(0) ?? 0, hex = (/** @type {number} */ size) => code.toString(16).padStart(size, "0");
    return SHORT[char] ?? (code < 0x100 ? `\\x${hex(2)}` : code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`);
  });
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
    parent.appendChild(document.createTextNode(visible(String(child), true)));
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
