// Numbers, times and keys as the page writes and knows them. Everything here returns plain text.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** A number in full, with a tenth if it is small. */
export function full(n) {
  return (Math.abs(n) < 10 ? tenths : whole).format(n);
}

/** What makes a key one, of an answer's key or state: of a long name the bytes are not all there. */
export function identity(data) {
  return [data.db, data.key_base64, data.key_bytes, data.key_crc32c ?? ""].join(" ");
}

function scaled(n, step, units) {
  let unit = 0;
  while (unit < units.length - 1 && Math.abs(n) >= step * 0.9995) {
    n /= step;
    unit++;
  }
  const digits = unit === 0 && Math.abs(n) >= 10 ? 0 : Math.abs(n) < 100 ? 1 : 0;
  return n.toLocaleString("en", { maximumFractionDigits: digits }) + units[unit];
}

/** A number in few characters: 12.3k. */
export function short(n) {
  return scaled(n, 1000, ["", "k", "M", "G"]);
}

/** Bytes in few characters: 1.2 MB. */
export function bytes(n) {
  return scaled(n, 1000, [" B", " kB", " MB", " GB", " TB"]);
}

/** A share of 1 as percent. */
export function percent(share) {
  const p = share * 100;
  if (p > 0 && p < 0.05) return "< 0.1 %";
  return p.toLocaleString("en", { maximumFractionDigits: p < 10 ? 1 : 0 }) + " %";
}

/** Microseconds of processor time per second, as percent of a core. */
export function cores(micros) {
  return percent(micros / 1e6);
}

/** A length of time: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min. */
export function duration(ms) {
  const s = ms / 1000;
  if (s < 9.95) return tenths.format(s) + " s";
  if (s < 60) return whole.format(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min" + (s % 60 >= 1 ? " " + Math.floor(s % 60) + " s" : "");
  if (s < 86400) return Math.floor(s / 3600) + " h" + (s % 3600 >= 60 ? " " + Math.floor((s % 3600) / 60) + " min" : "");
  return Math.floor(s / 86400) + " d " + Math.floor((s % 86400) / 3600) + " h";
}

/** A time of day. */
export function clock(ms) {
  return new Date(ms).toLocaleTimeString("en-GB");
}

/** One or many of a thing. */
export function count(n, one, many) {
  return full(n) + " " + (n === 1 ? one : many);
}
