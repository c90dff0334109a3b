// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "broker",
  uses: [],
  open(root) {
    root.append(heading("broker"), empty("This page is being written."));
    return { refresh() {} };
  },
};
