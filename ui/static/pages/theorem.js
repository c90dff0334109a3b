// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "theorem",
  uses: [],
  open(root) {
    root.append(heading("theorem"), empty("This page is being written."));
    return { refresh() {} };
  },
};
