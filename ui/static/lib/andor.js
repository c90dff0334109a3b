// The AND-OR tree of a search, as AlphaProof's: a state is an OR node, since one tactic that proves it is enough. A
// tactic that leaves several subgoals is an AND node, since all of them have to be proved.

/**
 * @typedef {[tactic: string, prior: number | null, visits: number, value: number | null, steps: number | null, dead: number, children: number[]]} Taken
 * @typedef {{goal: string[], parent: (number | null)[], visits: number[], value: (number | null)[], steps: (number | null)[], dead: number[], best: (number | null)[], at: (number | null)[], failed: number[], tactics: Taken[][]}} Columns
 * @typedef {{kind: "state" | "and" | "end" | "again", state: number, tactic: number, key: string}} TreeNode `state`: of a state
 *   and of `again`, which is shown elsewhere, itself; else the one that the tactic is of. `tactic`: the one that it is, or that leads to it; -1: none.
 */

/** @param {Columns} columns as the view `search` sends them */
export function andOr(columns) {
  const size = columns.goal.length;
  const taken = (/** @type {number} */ state) => columns.tactics[state] ?? [];
  // The known proof; without one, the line with most visits.
  /** @type {Map<number, number>} tactics by their state */
  const line = new Map();
  const proved = typeof columns.best[0] === "number" && columns.steps[0] !== null;
  for (let open = [0]; open.length;) {
    const state = /** @type {number} */ (open.pop());
    if (line.has(state)) continue;
    const tactic = proved ? columns.best[state] : order(state)[0];
    if (tactic === null || tactic === undefined || (!proved && !taken(state)[tactic]?.[2])) continue;
    line.set(state, tactic);
    open.push(...(taken(state)[tactic]?.[6] ?? []));
  }
  const lit = new Set([0, ...[...line].flatMap(([state, tactic]) => taken(state)[tactic]?.[6] ?? [])]);
  /** Where each state stands, since several tactics may lead to it: under that of the line, else under the state from which it was first reached. @type {({state: number, tactic: number} | null)[]} */
  const placed = Array(size).fill(null);
  for (const [state, tactic] of line) for (const child of taken(state)[tactic]?.[6] ?? []) if (child !== 0) placed[child] ??= { state, tactic };
  for (let state = 0; state < size; state++) {
    for (const tactic of order(state)) {
      for (const child of taken(state)[tactic]?.[6] ?? []) if (child > state && !placed[child] && columns.parent[child] === state) placed[child] = { state, tactic };
    }
  }
  // The order of expansions.
  const expanded = columns.at.flatMap((at, state) => (typeof at === "number" ? [state] : [])).sort((a, b) => Number(columns.at[a]) - Number(columns.at[b]) || a - b);
  const step = Array(size).fill(0);
  expanded.forEach((state, place) => (step[state] = place + 1));

  /** The tactics of a state: that of the proof, then by visits and prior. @param {number} state */
  function order(state) {
    if (taken(state).length < 2) return taken(state).map((_, place) => place);
    const all = taken(state), best = columns.best[state];
    return all.map((_, place) => place).sort((a, b) => Number(b === best) - Number(a === best) || (all[b]?.[2] ?? 0) - (all[a]?.[2] ?? 0) || (all[b]?.[1] ?? 0) - (all[a]?.[1] ?? 0));
  }

  /** @param {number} child @param {number} state @param {number} tactic @param {string} place @param {boolean} [first] @returns {TreeNode} */
  const below = (child, state, tactic, place, first = true) => (first && placed[child]?.state === state && placed[child]?.tactic === tactic
    ? { kind: "state", state: child, tactic, key: `s${child}` } : { kind: "again", state: child, tactic, key: `r${state}.${place}` });

  return {
    size, columns, placed, proved, line, lit, expanded, step, order,
    /** Whether a state was expanded by then: after `now` expansions. @param {number} state @param {number} now */
    open: (state, now) => now >= expanded.length || (step[state] > 0 && step[state] <= now),
    /** Whether a state was there by then. @param {number} state @param {number} now */
    there: (state, now) => now >= expanded.length || state === 0 || (placed[state] !== null && step[placed[state]?.state ?? 0] > 0 && step[placed[state]?.state ?? 0] <= now),
    /** @type {TreeNode} */
    root: { kind: "state", state: 0, tactic: -1, key: "s0" },
    /** What is below a node. @param {TreeNode} node @returns {TreeNode[]} */
    children(node) {
      if (node.kind === "and") return (taken(node.state)[node.tactic]?.[6] ?? []).map((child, place, all) => below(child, node.state, node.tactic, `${node.tactic}.${place}`, all.indexOf(child) === place));
      if (node.kind !== "state") return [];
      return order(node.state).map((tactic) => {
        const left = taken(node.state)[tactic]?.[6] ?? [], [only] = left;
        if (only === undefined) return { kind: "end", state: node.state, tactic, key: `e${node.state}.${tactic}` };
        return left.length === 1 ? below(only, node.state, tactic, `${tactic}`) : { kind: "and", state: node.state, tactic, key: `a${node.state}.${tactic}` };
      });
    },
    /** The tactic that a node is, or that leads to it. @param {TreeNode} node @param {number} from the state above */
    tactic: (node, from) => (node.tactic < 0 ? undefined : taken(node.kind === "state" || node.kind === "again" ? from : node.state)[node.tactic]),
    /** How many of these nodes were visited. @param {TreeNode[]} nodes @param {number} from */
    visited: (nodes, from) => nodes.filter((node) => (node.tactic < 0 ? true : (taken(node.kind === "state" || node.kind === "again" ? from : node.state)[node.tactic]?.[2] ?? 0) > 0)).length,
    /** The nodes above a state, and the place of what leads to it among what is below them. @param {number} state @returns {[string, number][]} */
    above(state) {
      /** @type {[string, number][]} */
      const found = [];
      for (let child = state, at = placed[state]; at; child = at.state, at = placed[child]) {
        const left = taken(at.state)[at.tactic]?.[6] ?? [];
        if (left.length > 1) found.push([`a${at.state}.${at.tactic}`, left.indexOf(child)]);
        found.push([`s${at.state}`, order(at.state).indexOf(at.tactic)]);
      }
      return found;
    },
  };
}

/** @typedef {ReturnType<typeof andOr>} Model */
