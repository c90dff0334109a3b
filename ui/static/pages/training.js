// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "training",
  uses: [],
  open(root) {
    root.append(heading("training"), empty("This page is being written."));
    return { refresh() {} };
  },
};
