// All pages: where they stand in the navigation, and the module that is loaded when one is opened.

/** @type {Record<string, {title: string, group: string, load: () => Promise<any>, hidden?: boolean, under?: string, control?: boolean}>} */
export const PAGES = {
  runs: { title: "All runs", group: "", load: () => import("./pages/runs.js") },
  overview: { title: "Overview", group: "", load: () => import("./pages/overview.js") },
  training: { title: "Training", group: "Learning", load: () => import("./pages/training.js") },
  evaluation: { title: "Evaluation", group: "Learning", load: () => import("./pages/evaluation.js") },
  data: { title: "Data", group: "Learning", load: () => import("./pages/data.js") },
  selfplay: { title: "Self-play", group: "Learning", load: () => import("./pages/selfplay.js") },
  theorems: { title: "Theorems", group: "Search", load: () => import("./pages/theorems.js") },
  theorem: { title: "Theorem", group: "Search", load: () => import("./pages/theorem.js"), hidden: true, under: "theorems" },
  attempts: { title: "Attempts", group: "Search", load: () => import("./pages/attempts.js") },
  attempt: { title: "Attempt", group: "Search", load: () => import("./pages/attempt.js"), hidden: true, under: "attempts" },
  searches: { title: "Searches", group: "Search", load: () => import("./pages/searches.js") },
  search: { title: "Search", group: "Search", load: () => import("./pages/search.js"), hidden: true, under: "searches" },
  submit: { title: "Submit", group: "Search", load: () => import("./pages/submit.js"), control: true },
  why: { title: "Why slow", group: "Mesh", load: () => import("./pages/why.js") },
  nodes: { title: "Nodes", group: "Mesh", load: () => import("./pages/nodes.js") },
  node: { title: "Node", group: "Mesh", load: () => import("./pages/node.js"), hidden: true, under: "nodes" },
  inference: { title: "Inference", group: "Mesh", load: () => import("./pages/inference.js") },
  lean: { title: "Lean", group: "Mesh", load: () => import("./pages/lean.js") },
  broker: { title: "Broker", group: "Mesh", load: () => import("./pages/broker.js") },
  logs: { title: "Logs", group: "Mesh", load: () => import("./pages/logs.js") },
};
