// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "lean",
  uses: [],
  open(root) {
    root.append(heading("lean"), empty("This page is being written."));
    return { refresh() {} };
  },
};
