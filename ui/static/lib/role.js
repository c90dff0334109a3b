// What the nodes of a role do together: numbers now, curves over the run, a table of the nodes.
import { h, shortened } from "./dom.js";
import { clock, number } from "./format.js";
import { card, dot, heading, tiles } from "./parts.js";
import { lineChart } from "./chart.js";
import { table } from "./table.js";
import { fill } from "./dom.js";

/**
 * A page about a role.
 * @param {{
 *   title: string, role: string, note: string,
 *   tiles: (totals: Record<string, number>, data: any) => {value: any, label: string, tone?: any, title?: string}[],
 *   charts: {title: string, note?: string, unit: string, lines: [string, string][], scale?: number, share?: boolean}[],
 *   columns: [string, string, ((x: number) => string)?][],
 *   more?: (context: import("../types").Context) => {nodes: Node[], set(data: any): void},
 * }} spec `lines`: [value of heartbeats, name]; `columns`: [value, label, format].
 * @returns {import("../types").Page}
 */
export function rolePage(spec) {
  return {
    title: spec.title,
    uses: ["nodes"],
    open(root, context) {
      const now = h("div", { class: "tiles wide" });
      const charts = spec.charts.map((each) => ({ ...each, chart: lineChart({ title: each.title, x: "time", xLabel: "time", yLabel: each.unit, zero: true, share: each.share, empty: "No history of the nodes: it is in the run's folder, from its first minute on." }) }));
      const nodes = table({
        caption: `Nodes: ${spec.title}`,
        columns: [
          { label: "node", cell: (/** @type {any} */ node) => shortened(node.id, 80) },
          { label: "state", cell: (node) => dot(node.state) },
          ...spec.columns.map(([name, label, format]) => ({ label, number: true, cell: (/** @type {any} */ node) => (format ?? number)(node.values[name]) })),
          { label: "last heard", number: true, cell: (node) => clock(node.time) },
        ],
        key: (node) => node.id,
        href: (node) => context.href("node", node.id),
        tone: (node) => (node.state === "gone" ? "gone" : ""),
        empty: "No node of this kind was heard.",
        tall: true,
      });
      const count = h("span", { class: "quiet" });
      const more = spec.more?.(context);
      root.append(heading(spec.title, h("span", { class: "quiet" }, spec.note)), now, ...(more?.nodes ?? []),
        ...charts.map((each) => card(each.title, { note: each.note }, each.chart.node)), card("Nodes", { note: count, wide: true }, nodes.node));
      return {
        async refresh() {
          const data = await context.get("role", { name: spec.role });
          fill(now, tiles(spec.tiles(data.totals, data)));
          fill(count, data.count > data.nodes.length ? `${number(data.nodes.length)} of ${number(data.count)}` : `${number(data.count)}`);
          nodes.set(data.nodes);
          more?.set(data);
          for (const { chart, lines, scale = 1 } of charts) {
            chart.set(lines.filter(([name]) => data.values[name]).map(([name, label]) => ({ name: label,
              points: data.time.map((/** @type {number} */ time, /** @type {number} */ i) => [time, data.values[name][i] === null ? null : data.values[name][i] * scale]) })));
          }
        },
        close: () => charts.forEach((each) => each.chart.close()),
      };
    },
  };
}
