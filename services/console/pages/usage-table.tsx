import type { ComponentChildren } from 'preact';
import { numberText, percentText } from '#pages/format';

/** What one thing has used; `note` is what else there is to say of it, besides its id. */
export type UsedRow = {
  readonly id: string;
  readonly name: ComponentChildren;
  readonly note?: string;
  readonly cycles: number;
};

/** Who used how many cycles, in numbers and as a share of `cycles`. */
export function UsageTable({
  of,
  caption,
  rows,
  cycles,
}: {
  /** What a row is: `Key`. */
  readonly of: string;
  readonly caption: string;
  readonly rows: readonly UsedRow[];
  readonly cycles: number;
}) {
  return (
    <table class="rows is-plain">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{of}</th>
          <th scope="col" class="is-number">
            Cycles
          </th>
          <th scope="col" class="is-number">
            Share
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <th scope="row">
              <span class="row-name">{row.name}</span>
              {row.note === undefined ? (
                <code>{row.id}</code>
              ) : (
                <span class="row-more">{row.note}</span>
              )}
            </th>
            <td data-label="Cycles" class="is-number">
              {numberText(row.cycles)}
            </td>
            <td data-label="Share" class="is-number">
              {percentText(cycles === 0 ? 0 : row.cycles / cycles)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
