/** Findings that are kept in words; the rest is only counted. */
const KEPT_MAX = 200;

/** What a check found wrong: one line each, with the ids that it takes to look it up. */
export class Findings {
  readonly lines: string[] = [];
  count = 0;

  /** Notes something that is wrong. */
  add(line: string): void {
    this.count += 1;
    if (this.lines.length < KEPT_MAX) this.lines.push(line);
  }
}
