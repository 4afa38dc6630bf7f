/**
 * A date-time of RFC 3339 whose every part is in its range, days of a month aside. The first year
 * is that of the epoch. The API document shows it as it stands.
 */
export const RFC_3339 =
  /^(?:19[7-9]\d|[2-9]\d{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Every month has at least this number of days. */
const MONTH_DAYS_MIN = 28;

const MINUTE_MS = 60_000;
const ZERO = '0'.charCodeAt(0);

/**
 * Unix milliseconds of an RFC 3339 date-time with offset, fraction digits beyond the third cut off;
 * undefined for anything else, for dates that do not exist and for leap seconds. Parts are read
 * where they stand, because capturing them costs more than all the rest. Source: decision 8.
 */
export function parseTimestamp(text: string): number | undefined {
  if (!RFC_3339.test(text)) return undefined;
  const year = 100 * twoDigits(text, 0) + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)];
  const localMs = Date.UTC(year, month - 1, day, hour, minute, second, fractionMs(text));
  const isRealDate = day <= MONTH_DAYS_MIN || new Date(localMs).getUTCDate() === day;
  return isRealDate ? localMs - offsetMs(text) : undefined;
}

/** The digits behind the point, which follows the seconds if there is one. */
function fractionMs(text: string): number {
  return text.charAt(19) === '.' ? Math.round(1_000 * Number.parseFloat(text.slice(19, 23))) : 0;
}

/** `Z`, or `±hh:mm` at the end: how far local time is ahead of UTC. */
function offsetMs(text: string): number {
  const sign = text.charAt(text.length - 6);
  if (sign !== '+' && sign !== '-') return 0;
  const minutes = 60 * twoDigits(text, text.length - 5) + twoDigits(text, text.length - 2);
  return (sign === '+' ? minutes : -minutes) * MINUTE_MS;
}

function twoDigits(text: string, at: number): number {
  return 10 * (text.charCodeAt(at) - ZERO) + text.charCodeAt(at + 1) - ZERO;
}
