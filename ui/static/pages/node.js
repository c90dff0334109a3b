// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "node",
  uses: [],
  open(root) {
    root.append(heading("node"), empty("This page is being written."));
    return { refresh() {} };
  },
};
