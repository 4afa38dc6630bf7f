/** Maximum number of findings kept as text; the rest is only counted. */
const KEPT_MAX = 200;

/** Findings of a check: one line each, with the ids for further analysis. */
export class Findings {
  readonly lines: string[] = [];
  count = 0;

  /** Adds a finding. */
  add(line: string): void {
    this.count += 1;
    if (this.lines.length < KEPT_MAX) this.lines.push(line);
  }
}
