// A picture of an AND-OR tree: states are circles, tactics with several subgoals are squares. The larger, the more visits.
import { h } from "./dom.js";

/** @typedef {import("./andor.js").Model} Model */

const ROW = 15, LOW = 110, HIGH = 460; // pixels: of half a level, and of the picture

/** @param {(state: number) => void} select */
export function picture(select) {
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img", class: "picture" }));
  const node = h("div", { class: "picture-box" }, canvas);
  /** @type {Model | null} */
  let model = null;
  /** @type {{x: Float64Array, y: Int32Array, drawn: number[], shown: Uint8Array, leaves: number, depth: number}} */
  let places = { x: new Float64Array(0), y: new Int32Array(0), drawn: [], shown: new Uint8Array(0), leaves: 1, depth: 1 };
  let now = 0, chosen = 0, waiting = 0;

  /** Place each state that was visited: leaves side by side, others above the middle of what is below. @param {Model} tree */
  function place(tree) {
    const { size, columns, placed } = tree;
    /** @type {number[][]} */
    const below = Array.from({ length: size }, () => []);
    const x = new Float64Array(size), y = new Int32Array(size);
    const seen = (/** @type {number} */ state) => state === 0 || (columns.visits[state] ?? 0) > 0 || tree.lit.has(state);
    for (let state = 1; state < size; state++) {
      const at = placed[state];
      if (at && seen(state)) below[at.state]?.push(state);
    }
    const ranks = new Map();
    below.forEach((children, state) => {
      if (children.length < 2) return;
      tree.order(state).forEach((tactic, rank) => ranks.set(tactic, rank));
      children.sort((a, b) => ranks.get(placed[a]?.tactic) - ranks.get(placed[b]?.tactic) || a - b);
      ranks.clear();
    });
    let leaves = 0, depth = 0;
    const drawn = [], open = [0], shown = new Uint8Array(size);
    while (open.length) {
      const state = /** @type {number} */ (open.pop()), children = below[state] ?? [];
      drawn.push(state);
      shown[state] = 1;
      if (state) y[state] = (y[placed[state]?.state ?? 0] ?? 0) + 1;
      depth = Math.max(depth, y[state] ?? 0);
      if (children.length === 0) x[state] = leaves++;
      for (let n = children.length - 1; n >= 0; n--) open.push(/** @type {number} */ (children[n]));
    }
    for (let n = drawn.length - 1; n >= 0; n--) {
      const state = drawn[n] ?? 0, children = below[state] ?? [];
      if (children.length) x[state] = ((x[children[0] ?? 0] ?? 0) + (x[children[children.length - 1] ?? 0] ?? 0)) / 2;
    }
    places = { x, y, drawn, shown, leaves: Math.max(1, leaves), depth: Math.max(1, depth) };
  }

  const colour = (/** @type {string} */ name) => getComputedStyle(canvas).getPropertyValue(name).trim();

  /** Where a state is, in pixels. @param {number} state @returns {[number, number]} */
  function spot(state) {
    const wide = canvas.clientWidth, high = canvas.clientHeight;
    return [16 + ((wide - 32) * ((places.x[state] ?? 0) + 0.5)) / places.leaves, 14 + ((high - 28) * (places.y[state] ?? 0)) / places.depth];
  }

  function draw() {
    waiting = 0;
    if (!model || !canvas.isConnected) return;
    const tree = model, { columns, placed, lit, line } = tree;
    canvas.style.height = `${Math.max(LOW, Math.min(HIGH, 2 * ROW * places.depth + 28))}px`;
    const wide = canvas.clientWidth, high = canvas.clientHeight, ratio = devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(wide * ratio), Math.round(high * ratio)];
    const pen = canvas.getContext("2d");
    if (!pen) return;
    pen.scale(ratio, ratio);
    const [quiet, faint, good, accent, bad, card, text] = ["--quiet", "--line", "--good", "--accent", "--bad", "--card", "--text"].map(colour);
    const main = (tree.proved ? good : accent) ?? "", room = (wide - 32) / places.leaves;
    const most = Math.sqrt(Math.max(1, columns.visits[0] ?? 1)), scale = Math.max(0.4, Math.min(1, room / 9));
    const onLine = (/** @type {number} */ state) => state === 0 || (lit.has(state) && line.get(placed[state]?.state ?? -1) === placed[state]?.tactic);
    // 1. Edges; a tactic with several subgoals has a square where they part.
    for (const bright of [false, true]) {
      for (const state of places.drawn) {
        const at = placed[state];
        if (!at || onLine(state) !== bright) continue;
        const [x0, y0] = spot(at.state), [x1, y1] = spot(state);
        const several = (columns.tactics[at.state]?.[at.tactic]?.[6].length ?? 0) > 1;
        pen.globalAlpha = tree.there(state, now) ? 1 : 0.15;
        pen.strokeStyle = bright ? main : places.leaves > 300 ? (faint ?? "") : (quiet ?? "");
        pen.lineWidth = bright ? 3 : Math.max(0.5, 1.4 * scale);
        pen.beginPath();
        pen.moveTo(x0, y0);
        if (several) {
          const [xm, ym] = parting(tree, at);
          pen.lineTo(xm, ym);
        }
        pen.lineTo(x1, y1);
        pen.stroke();
      }
    }
    // 2. Nodes.
    /** @type {Set<string>} */
    const parted = new Set();
    for (const state of places.drawn) {
      const at = placed[state], bright = onLine(state), [x, y] = spot(state);
      pen.globalAlpha = tree.there(state, now) ? 1 : 0.15;
      const key = at ? `${at.state}.${at.tactic}` : "";
      if (at && !parted.has(key) && (columns.tactics[at.state]?.[at.tactic]?.[6].length ?? 0) > 1) {
        parted.add(key);
        const [xm, ym] = parting(tree, at), half = (bright ? 5 : 4) * scale;
        pen.fillStyle = bright ? main : (quiet ?? "");
        pen.fillRect(xm - half, ym - half, 2 * half, 2 * half);
      }
      const radius = (2.5 + (4.5 * Math.sqrt(columns.visits[state] ?? 0)) / most) * scale + (bright ? 1 : 0);
      const done = columns.steps[state] !== null, dead = Boolean(columns.dead[state]);
      pen.beginPath();
      pen.arc(x, y, radius, 0, 7);
      pen.fillStyle = !tree.open(state, now) || (columns.tactics[state]?.length === 0 && !done) ? (card ?? "") : done ? (good ?? "") : bright ? main : (quiet ?? "");
      pen.strokeStyle = done ? (good ?? "") : dead ? (bad ?? "") : bright ? main : (quiet ?? "");
      pen.lineWidth = 1.5 * Math.max(0.6, scale);
      pen.fill();
      pen.stroke();
      if (dead) {
        pen.beginPath();
        pen.moveTo(x - radius, y - radius);
        pen.lineTo(x + radius, y + radius);
        pen.moveTo(x + radius, y - radius);
        pen.lineTo(x - radius, y + radius);
        pen.stroke();
      }
    }
    // 3. The state that one looks at, and the one that is being expanded.
    pen.globalAlpha = 1;
    for (const [state, dash] of /** @type {[number, number[]][]} */ ([[chosen, []], [now < tree.expanded.length ? (tree.expanded[now - 1] ?? -1) : -1, [3, 2]]])) {
      if (state < 0 || state >= tree.size || (state && !placed[state])) continue;
      const [x, y] = spot(state);
      pen.beginPath();
      pen.setLineDash(dash);
      pen.arc(x, y, 11, 0, 7);
      pen.strokeStyle = text ?? "";
      pen.lineWidth = 2;
      pen.stroke();
    }
  }

  /** Where the subgoals of a tactic part. @param {Model} tree @param {{state: number, tactic: number}} at @returns {[number, number]} */
  function parting(tree, at) {
    const [x0, y0] = spot(at.state), own = (tree.columns.tactics[at.state]?.[at.tactic]?.[6] ?? []).filter((child) => places.shown[child] && tree.placed[child]?.state === at.state);
    const [first, last] = [own[0] ?? at.state, own[own.length - 1] ?? at.state].map(spot);
    return [(x0 + ((first?.[0] ?? x0) + (last?.[0] ?? x0)) / 2) / 2, (y0 + (first?.[1] ?? y0)) / 2];
  }

  const soon = () => (waiting ||= requestAnimationFrame(draw));
  const watch = new ResizeObserver(soon);
  watch.observe(node);
  addEventListener("theme", soon);

  /** The state near a place of the mouse. @param {MouseEvent} event */
  function near(event) {
    let found = -1, least = 14 * 14;
    for (const state of places.drawn) {
      const [x, y] = spot(state), far = (x - event.offsetX) ** 2 + (y - event.offsetY) ** 2;
      if (far < least && model?.there(state, now)) [found, least] = [state, far];
    }
    return found;
  }
  canvas.addEventListener("click", (event) => {
    const found = near(event);
    if (found >= 0) select(found);
  });
  canvas.addEventListener("mousemove", (event) => {
    const found = near(event);
    canvas.title = found < 0 ? "" : `state ${found}: ⊢ ${model?.columns.goal[found] ?? ""}`;
    canvas.style.cursor = found < 0 ? "" : "pointer";
  });

  return {
    node,
    /** @param {Model} tree @param {string} words for those who do not see it */
    set(tree, words) {
      model = tree;
      canvas.setAttribute("aria-label", words);
      place(tree);
      soon();
    },
    /** After so many expansions, looking at this state. @param {number} step @param {number} state */
    at(step, state) {
      [now, chosen] = [step, state];
      soon();
    },
    draw,
    close() {
      watch.disconnect();
      removeEventListener("theme", soon);
      cancelAnimationFrame(waiting);
    },
  };
}
