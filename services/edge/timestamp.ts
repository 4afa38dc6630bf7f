const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):(\d{2}))$/i;

/** The first year that Date.UTC takes literally; nothing before 1970 is accepted anyway. */
const LITERAL_YEAR_MIN = 1_000;

const MINUTE_MS = 60_000;

/**
 * Unix milliseconds of an RFC 3339 date-time with offset, fraction digits beyond the third cut off;
 * undefined for anything else, for dates that do not exist and for leap seconds. Source: decisions
 * 8 and 37.
 */
export function parseTimestamp(text: string): number | undefined {
  const parts = RFC_3339.exec(text);
  if (parts === null) return undefined;
  const number = (index: number) => Number(parts[index] ?? 0);
  const [year, month, day] = [number(1), number(2), number(3)];
  const [hour, minute, second] = [number(4), number(5), number(6)];
  if (year < LITERAL_YEAR_MIN || hour > 23 || minute > 59 || second > 59) return undefined;
  if (number(9) > 23 || number(10) > 59) return undefined;
  const fractionMs = Number((parts[7] ?? '').slice(0, 3).padEnd(3, '0'));
  const localMs = Date.UTC(year, month - 1, day, hour, minute, second, fractionMs);
  const isRealDate = month >= 1 && month <= 12 && new Date(localMs).getUTCDate() === day;
  if (!isRealDate) return undefined;
  const offsetMs = (number(9) * 60 + number(10)) * MINUTE_MS;
  return parts[8] === '-' ? localMs + offsetMs : localMs - offsetMs;
}
