// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "search",
  uses: [],
  open(root) {
    root.append(heading("search"), empty("This page is being written."));
    return { refresh() {} };
  },
};
