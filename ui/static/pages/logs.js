// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "logs",
  uses: [],
  open(root) {
    root.append(heading("logs"), empty("This page is being written."));
    return { refresh() {} };
  },
};
