// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "theorems",
  uses: [],
  open(root) {
    root.append(heading("theorems"), empty("This page is being written."));
    return { refresh() {} };
  },
};
