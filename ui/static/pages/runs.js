// All runs of the folder.
import { card, chip, heading } from "../lib/parts.js";
import { table } from "../lib/table.js";
import { part } from "../lib/api.js";

/** @type {import("../types").Page} */
export const page = {
  title: "Runs",
  uses: [],
  open(root, context) {
    const runs = table({
      caption: "All runs",
      columns: [
        { label: "run", cell: (/** @type {any} */ run) => run.name },
        { label: "kind", cell: (run) => run.kind },
        { label: "state", cell: (run) => (run.live ? chip("live", "good") : run.finished ? chip("finished") : "") },
      ],
      key: (run) => run.name,
      href: (run) => `/run/${part(run.name)}/overview`,
      empty: "No run yet: `proofmesh demo`, `proofmesh up` and `proofmesh train` make them.",
    });
    root.append(heading("Runs"), card("All runs", { wide: true }, runs.node));
    return {
      async refresh() {
        runs.set(await context.get("runs"));
      },
    };
  },
};
