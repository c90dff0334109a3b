// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "searches",
  uses: [],
  open(root) {
    root.append(heading("searches"), empty("This page is being written."));
    return { refresh() {} };
  },
};
