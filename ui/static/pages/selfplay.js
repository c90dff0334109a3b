// Not written yet.
import { empty, heading } from "../lib/parts.js";

/** @type {import("../types").Page} */
export const page = {
  title: "selfplay",
  uses: [],
  open(root) {
    root.append(heading("selfplay"), empty("This page is being written."));
    return { refresh() {} };
  },
};
