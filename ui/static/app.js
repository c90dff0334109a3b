// The frame of the monitor: which page is open, what has changed, and when to ask again.
import { get, part } from "./lib/api.js";
import { $, fill, h, shortened } from "./lib/dom.js";
import { duration } from "./lib/format.js";
import { PAGES } from "./pages.js";

/** @typedef {import("./types").Tick} Tick */
/** @typedef {import("./types").OpenPage} OpenPage */
/** @typedef {import("./types").Page} Page */

const FASTEST = 1000; // milliseconds between two refreshes of a page
const PATIENCE = 4; // a refresh that took a second is not repeated for four
const SILENT = 6000; // milliseconds without a message after which the connection counts as lost

/** @type {{page: Page, name: string, open: OpenPage, run: string, seen: string, problem: HTMLElement, stop: AbortController, busy: boolean, stale: boolean, ended: number, took: number, timer: number} | null} */
let current = null;
/** @type {Tick | null} */
let tick = null;
/** @type {EventSource | null} */
let events = null;
let listening = "";
let opening = 0;

// --- addresses --------------------------------------------------------------------------------------------------------

/** `/runs`, or `/run/NAME/PAGE/...`. */
function place() {
  const [first, run, page, ...rest] = location.pathname.split("/").filter(Boolean).map((each) => {
    try {
      return decodeURIComponent(each);
    } catch {
      return each;
    }
  });
  return first === "run" && run ? { run, name: page || "overview", rest } : { run: "", name: "runs", rest: [] };
}

/** @param {string} run @param {string} page @param {...string} rest */
const href = (run, page, ...rest) => (run ? `/run/${[run, page, ...rest].map(part).join("/")}` : `/${page}`);

/** @param {string} address @param {boolean} [replace] */
function go(address, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  void open();
}

addEventListener("popstate", () => void open());
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href);
  if (url.hash && url.pathname === location.pathname) { // a place of this page, which is not opened again
    event.preventDefault();
    document.getElementById(url.hash.slice(1))?.focus();
    return;
  }
  if (url.origin !== location.origin || link.target || !/^\/(run\/|runs)/.test(url.pathname)) return;
  event.preventDefault();
  menu(false);
  go(url.pathname + url.search);
});

// --- pages ------------------------------------------------------------------------------------------------------------

async function open() {
  const { run, name, rest } = place();
  const mine = ++opening;
  const entry = PAGES[name];
  close();
  listen(run);
  showNav(run, name);
  const main = $("main");
  if (!entry) {
    document.title = "proofmesh";
    fill(main, h("h1", { tabindex: "-1" }, "No such page"), h("p", null, h("a", { href: "/runs" }, "All runs")));
    return;
  }
  try {
    const page = /** @type {Page} */ ((await entry.load()).page);
    if (mine !== opening) return; // another page was opened meanwhile
    document.title = `${page.title} · ${run || "proofmesh"}`;
    const stop = new AbortController();
    const problem = h("p", { class: "problem wide", role: "alert", hidden: true });
    const root = h("div", { class: `page ${name}` }, problem);
    fill(main, root);
    const context = {
      run,
      rest,
      get query() {
        return new URLSearchParams(location.search);
      },
      get tick() {
        return tick;
      },
      get: (/** @type {string} */ view, /** @type {any} */ query) => get(run ? `/api/run/${part(run)}/${part(view)}` : `/api/${part(view)}`, query, stop.signal),
      setQuery,
      href: (/** @type {string} */ to, /** @type {string[]} */ ...more) => href(run, to, ...more),
    };
    current = { page, name, open: page.open(root, context), run, seen: "", problem, stop, busy: false, stale: false, ended: 0, took: 0, timer: 0 };
    if (mine > 1) root.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
    want();
  } catch (error) {
    fill(main, h("h1", { tabindex: "-1" }, "This page cannot be shown"), h("p", { class: "problem", role: "alert" }, `${error}`));
    console.error(error);
  }
}

function close() {
  if (!current) return;
  clearTimeout(current.timer);
  current.stop.abort();
  current.open.close?.();
  current = null;
}

/** @param {Record<string, string | number | undefined>} changes */
function setQuery(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  history.replaceState(null, "", text ? `${location.pathname}?${text}` : location.pathname);
  if (current) [current.ended, current.took] = [0, 0]; // a person waits
  want();
}

/** The page's data have changed: refresh it soon, and not while nobody looks. */
function want() {
  if (!current) return;
  current.stale = true;
  if (current.busy || document.hidden) return;
  clearTimeout(current.timer);
  const wait = current.ended + Math.max(FASTEST, PATIENCE * current.took) - performance.now();
  if (current.ended && wait > 0) current.timer = setTimeout(() => void refresh(), wait);
  else void refresh();
}

async function refresh() {
  const mine = current;
  if (!mine || mine.busy) return;
  [mine.busy, mine.stale] = [true, false];
  const began = performance.now();
  try {
    await mine.open.refresh();
    mine.problem.hidden = true;
  } catch (error) {
    if (mine !== current) return;
    const words = error instanceof TypeError ? "The monitor does not answer; its last data are below." : `${error instanceof Error ? error.message : error}`;
    if (error instanceof TypeError && !navigator.onLine) console.info(error);
    fill(mine.problem, shortened(words, 1000));
    mine.problem.hidden = false;
  } finally {
    mine.busy = false;
    mine.ended = performance.now();
    mine.took = mine.ended - began;
  }
  if (mine === current && mine.stale) want();
}

document.addEventListener("visibilitychange", () => current?.stale && want());

// --- what has changed -------------------------------------------------------------------------------------------------

let heard = 0;

/** @param {string} run */
function listen(run) {
  if (run === listening) {
    showState();
    return;
  }
  events?.close();
  [events, listening, tick] = [null, run, null];
  showState();
  if (!run) return;
  events = new EventSource(`/events?run=${part(run)}`);
  events.addEventListener("error", () => { // the browser tries again by itself
    heard = -SILENT;
    showState();
  });
  events.addEventListener("tick", (event) => {
    heard = performance.now();
    tick = /** @type {Tick} */ (JSON.parse(event.data));
    showState();
    const seen = current?.page.uses.map((kind) => tick?.versions[kind] ?? "").join("|") ?? "";
    if (current && current.run === run) {
      current.open.tick?.(tick);
      if (seen !== current.seen) {
        const first = current.seen === "" && !current.stale && current.ended === 0;
        current.seen = seen;
        if (!first) want();
      }
    }
  });
}

setInterval(() => {
  if (listening) showState();
  else if (current && !document.hidden) want(); // pages about all runs look again
}, 3000);

function showState() {
  const link = $("link"), phase = $("phase");
  const lost = listening && performance.now() - heard > SILENT;
  /** @type {[string, string]} */
  const [text, tone] = !listening ? ["", ""]
    : !tick ? ["connecting", ""]
      : lost ? ["connection lost", "bad"]
        : tick.live ? (tick.connected ? ["live", "good"] : ["broker unreachable", "bad"])
          : tick.finished ? ["finished", ""] : ["from files", ""];
  if (link.textContent !== text) link.textContent = text;
  link.className = `chip ${tone}`;
  link.hidden = !text;
  phase.hidden = !tick?.phase;
  phase.textContent = tick?.phase ?? "";
  $("left").textContent = tick?.left && tick.left > 0 ? `${duration(tick.left)} left in this phase` : "";
  document.body.classList.toggle("sick", Boolean(tick?.sick));
  const nodes = document.querySelector('#nav a[data-page="nodes"] .count');
  document.body.classList.toggle("control", Boolean(tick?.control));
  if (nodes) nodes.textContent = tick?.sick ? `${tick.sick} sick` : tick?.alive ? `${tick.alive}` : "";
}

// --- header and navigation --------------------------------------------------------------------------------------------

/** @param {string} run @param {string} name */
function showNav(run, name) {
  const groups = new Map();
  for (const [key, entry] of Object.entries(PAGES)) {
    if (entry.hidden || (!run && key !== "runs")) continue;
    if (!groups.has(entry.group)) groups.set(entry.group, []);
    groups.get(entry.group).push([key, entry]);
  }
  const shown = PAGES[name]?.under ?? name;
  fill($("nav"), [...groups].map(([group, entries]) => [group ? h("h2", null, group) : null,
    h("ul", null, entries.map((/** @type {[string, any]} */ [key, entry]) => h("li", { class: entry.control ? "control" : "" },
      h("a", { href: key === "runs" ? "/runs" : href(run, key), "aria-current": key === shown ? "page" : null, "data-page": key }, entry.title, h("span", { class: "count" })))))]));
  void showRuns(run);
}

/** @param {string} run */
async function showRuns(run) {
  const select = /** @type {HTMLSelectElement} */ ($("run"));
  /** @type {{name: string, live: boolean}[]} */
  let runs = [];
  try {
    runs = await get("/api/runs", { short: 1 });
  } catch {
    // the page itself says that the monitor does not answer
  }
  const names = runs.map((each) => each.name);
  if (run && !names.includes(run)) names.unshift(run);
  fill(select, run ? null : h("option", { value: "" }, "choose a run"),
    names.slice(0, 500).map((each) => h("option", { value: each, selected: each === run }, runs.find((one) => one.name === each)?.live ? `${each} (live)` : each)));
  select.onchange = () => select.value && go(href(select.value, run ? place().name : "overview"));
}

/** @param {boolean} shown */
function menu(shown) {
  document.body.classList.toggle("menu", shown);
  $("menu").setAttribute("aria-expanded", String(shown));
}
$("menu").addEventListener("click", () => menu(!document.body.classList.contains("menu")));
document.addEventListener("keydown", (event) => event.key === "Escape" && menu(false));

$("theme").addEventListener("click", () => {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // kept for this page only
  }
  dispatchEvent(new Event("theme"));
});

void open();
