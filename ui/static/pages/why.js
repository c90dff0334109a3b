// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "why",
  uses: [],
  open(root) {
    root.append(heading("why"), empty("This page is being written."));
    return { refresh() {} };
  },
};
