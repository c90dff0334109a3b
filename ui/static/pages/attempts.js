// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "attempts",
  uses: [],
  open(root) {
    root.append(heading("attempts"), empty("This page is being written."));
    return { refresh() {} };
  },
};
