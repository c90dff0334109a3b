// All pages: where they stand in the navigation, and the module that is loaded when one is opened.

/** @type {Record<string, {title: string, group: string, load: () => Promise<any>, hidden?: boolean, under?: string}>} */
export const PAGES = {
  runs: { title: "All runs", group: "", load: () => import("./pages/runs.js") },
  overview: { title: "Overview", group: "", load: () => import("./pages/overview.js") },
};
