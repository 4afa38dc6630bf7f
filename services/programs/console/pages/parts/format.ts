/** Time format of the pages: in the viewer's time zone, to the minute. */
const TO_THE_MINUTE = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'short', year: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
});

/** Time format to the second, for lines whose order matters. */
const TO_THE_SECOND = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'short', year: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
});

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

const NUMBER = new Intl.NumberFormat('en-GB');

const TENTHS = new Intl.NumberFormat('en-GB', {
  maximumFractionDigits: 1,
  signDisplay: 'negative',
});

/** Time format without the day, for events of today. */
const CLOCK = new Intl.DateTimeFormat('en-GB', {
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
});

/** Time format of the day. */
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

/** Precision of a displayed time. `clock` omits the day of today. */
export type Precision = 'minute' | 'second' | 'clock';

/** Formats an RFC 3339 time in the viewer's zone. Invalid times are returned unchanged. */
export function localTime(at: string, precision: Precision = 'minute'): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  if (precision === 'clock' && DAY.format(date) === DAY.format(new Date())) {
    return CLOCK.format(date);
  }
  return (precision === 'minute' ? TO_THE_MINUTE : TO_THE_SECOND).format(date);
}

/** Formats an RFC 3339 time in UTC, to the second. */
export function utcTime(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Formats a count with its unit: `1 cycle`, `12,000 cycles`. */
export function counted(count: number, unit: string): string {
  return `${NUMBER.format(count)} ${unit}${count === 1 ? '' : 's'}`;
}

/** Formats a count: `12,000`. */
export function numberText(count: number): string {
  return NUMBER.format(count);
}

/** Formats a share in whole percent, rounded down so that only a full share shows 100 %. */
export function percentText(share: number): string {
  return `${Math.floor(Math.min(1, Math.max(0, share)) * 100)} %`;
}

/** Formats a part of a whole in percent: `0 %` only for nothing, `<1 %` for less than a percent. */
export function shareText(share: number): string {
  if (share > 0 && share < 0.01) return '<1 %';
  if (share > 0.99 && share < 1) return '>99 %';
  return `${Math.round(share * 100)} %`;
}

/** Formats a model value (1 is 100 %) in percent to a tenth: `85 %`, `84.9 %`, `-3.2 %`. */
export function levelText(value: number): string {
  return `${TENTHS.format(value * 100)} %`;
}

/** Formats a number with two digits after the point. A negative zero becomes zero. */
export function decimalText(value: number): string {
  const text = value.toFixed(2);
  return text === '-0.00' ? '0.00' : text;
}

/** Formats a number like `decimalText`, with a sign: `+1.50`, `-0.20`, `0.00`. */
export function signedText(value: number): string {
  const text = decimalText(value);
  return Number(text) > 0 ? `+${text}` : text;
}

/**
 * Formats a wait, rounded up, in the largest unit that fits at least twice: `40 seconds`, `3
 * hours`.
 */
export function waitText(seconds: number): string {
  const [unit, length] = WAIT_UNITS.find(([, each]) => seconds >= 2 * each) ?? ['second', 1];
  return counted(Math.ceil(seconds / length), unit);
}

/** Formats a duration in the largest unit that fits: `42 ms`, `1.2 s`, `3 minutes`. */
export function durationText(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1_000;
  return seconds < 60 ? `${TENTHS.format(seconds)} s` : waitText(seconds);
}

/** Units with their seconds, longest first. */
const WAIT_UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** Formats a UTC month: `2026-01` becomes `January 2026`. */
export function monthText(month: string): string {
  const date = new Date(`${month}-01T00:00:00Z`);
  return Number.isNaN(date.getTime()) ? month : MONTH.format(date);
}

/** Replaces underscores in an API name: `idle_90_days` becomes `idle 90 days`. */
export function inWords(name: string): string {
  return name.replaceAll('_', ' ');
}

/**
 * Short name of a `User-Agent`, for example `Firefox on Linux`. An unknown agent is cut to
 * `CLIENT_LENGTH_MAX`.
 */
export function browserName(client: string): string {
  const browser = BROWSERS.find(([sign]) => client.includes(sign))?.[1];
  const system = SYSTEMS.find(([sign]) => client.includes(sign))?.[1];
  if (browser === undefined) return client.slice(0, CLIENT_LENGTH_MAX) || 'unknown client';
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** Maximum length for an unknown agent, in UTF-16 units, to fit a table. */
const CLIENT_LENGTH_MAX = 40;

/**
 * Browsers by a text in their `User-Agent`. The order matters, because Edge and Opera also contain
 * `Chrome`, and Chrome contains `Safari`.
 */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;

const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** Tags as texts: `key: value`, or `key` for an empty value. */
export function tagTexts(tags: Readonly<Record<string, string>>): string[] {
  return Object.entries(tags).map(([key, value]) => (value === '' ? key : `${key}: ${value}`));
}
