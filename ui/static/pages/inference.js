// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "inference",
  uses: [],
  open(root) {
    root.append(heading("inference"), empty("This page is being written."));
    return { refresh() {} };
  },
};
