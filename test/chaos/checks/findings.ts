/** Maximum findings kept as text. Further findings are only counted. */
const KEPT_MAX = 200;

/** Findings of a check. Each finding is one line that names the ids involved. */
export class Findings {
  readonly lines: string[] = [];
  count = 0;

  add(line: string): void {
    this.count += 1;
    if (this.lines.length < KEPT_MAX) this.lines.push(line);
  }
}
