// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "evaluation",
  uses: [],
  open(root) {
    root.append(heading("evaluation"), empty("This page is being written."));
    return { refresh() {} };
  },
};
