// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "attempt",
  uses: [],
  open(root) {
    root.append(heading("attempt"), empty("This page is being written."));
    return { refresh() {} };
  },
};
