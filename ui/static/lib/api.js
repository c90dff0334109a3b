// Asks the server.

/** The server refused a request; the message is its own. */
export class Refused extends Error {}

/** `?name=value&...`; undefined and empty parameters are left out. @param {Record<string, string | number | undefined>} [query] */
export function queryOf(query) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}

/**
 * GET an address. Throws Refused.
 * @param {string} path @param {Record<string, string | number | undefined>} [query] @param {AbortSignal} [signal]
 */
export async function get(path, query, signal) {
  const response = await fetch(path + queryOf(query), { signal });
  if (response.ok) return response.json();
  const body = await response.text();
  let words = body;
  try {
    words = JSON.parse(body).error ?? body;
  } catch {
    // not JSON: the text itself
  }
  throw new Refused(words.trim() || `the monitor answered with status ${response.status}`);
}

/** Part of an address. @param {string} text */
export const part = (text) => encodeURIComponent(text);
