// Numbers and times for people. What is no finite number is a dash.

const DASH = "–";
/** @param {unknown} x @returns {x is number} */
const known = (x) => typeof x === "number" && Number.isFinite(x);

/** `1,204`, `0.031`, `1.2e+40`. @param {unknown} x */
export function number(x) {
  if (!known(x)) return DASH;
  const size = Math.abs(x);
  if (size !== 0 && (size >= 1e9 || size < 1e-3)) return x.toExponential(1);
  if (Number.isInteger(x) || size >= 1000) return Math.round(x).toLocaleString("en");
  return size >= 100 ? x.toFixed(0) : size >= 10 ? x.toFixed(1) : size >= 1 ? x.toFixed(2) : x.toPrecision(2);
}

/** `63.1 %` of a share. @param {unknown} x */
export const percent = (x) => (known(x) && known(100 * x) ? `${Math.abs(x) < 1e7 ? (100 * x).toFixed(1) : number(100 * x)} %` : DASH);

/** `59 s`, `3 min 5 s`, `2 h 7 min`, `3 d 4 h`. @param {unknown} seconds */
export function duration(seconds) {
  if (!known(seconds)) return DASH;
  const size = Math.abs(seconds);
  if (size < 0.0005) return "0 s";
  if (size < 1) return `${(1000 * seconds).toFixed(size < 0.01 ? 1 : 0)} ms`;
  if (size < 60) return `${size < 10 ? seconds.toFixed(1) : seconds.toFixed(0)} s`;
  const whole = Math.floor(size);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${number(Math.floor(whole / 86400))} d ${Math.floor((whole % 86400) / 3600)} h`;
}

const LAST = 8.64e12; // the last second that a Date can have

/** Date and time of a Unix time, local. @param {unknown} time */
export function moment(time) {
  if (!known(time) || time <= 0 || time > LAST) return DASH;
  const date = new Date(1000 * time), pad = (/** @type {number} */ n) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${clock(time)}`;
}

/** Time of day, local. @param {unknown} time */
export function clock(time) {
  if (!known(time) || time <= 0 || time > LAST) return DASH;
  const date = new Date(1000 * time);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((n) => String(n).padStart(2, "0")).join(":");
}

/** `12 kB`, `3.4 GB`. @param {unknown} x */
export function bytes(x) {
  if (!known(x)) return DASH;
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let size = x, unit = 0;
  while (Math.abs(size) >= 1000 && unit < units.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${unit === 0 ? size : number(size)} ${units[unit]}`;
}

/** `1 node`, `2,000 nodes`. @param {number} count @param {string} thing */
export const count = (count, thing) => `${number(count)} ${thing}${count === 1 ? "" : "s"}`;
