/** A time in Unix milliseconds as answers write it: ISO 8601 in UTC, with milliseconds (interface 2.1). */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}
