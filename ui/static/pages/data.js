// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "data",
  uses: [],
  open(root) {
    root.append(heading("data"), empty("This page is being written."));
    return { refresh() {} };
  },
};
