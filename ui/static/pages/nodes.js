// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "nodes",
  uses: [],
  open(root) {
    root.append(heading("nodes"), empty("This page is being written."));
    return { refresh() {} };
  },
};
